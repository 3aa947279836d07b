import { randomBytes } from 'node:crypto'
import { AccessUnit } from './access-unit.ts'
import { type RtpCaps, sameFormat } from './caps.ts'
import { type Gop, GopCache, type GopLimits } from './gop-cache.ts'
import { keyFrameDetector } from './key-frame.ts'
import { hasMarker, payloadRange, sequenceOf, timestampOf } from './packet.ts'
import { Rfc4571Reader } from './rfc4571.ts'
import { StreamClock } from './stream-clock.ts'
import { Timeline } from './timeline.ts'

/** How long an access unit without a marker is waited for, milliseconds; longer where markers have been seen. */
const GATHER_MS = 2
const GATHER_WITH_MARKERS_MS = 25
/** A unit never closed by marker or timestamp is cut here. */
const MAX_UNIT_PACKETS = 16_384
/** What is held while the caps of a run are not known yet. */
const MAX_PENDING_BYTES = 32 * 1024 * 1024
/** A run whose caps do not come is taken to have the caps of the one before. */
const CAPS_TIMEOUT_MS = 1_000
/** A larger step of the sequence number is a new beginning, not a loss. */
const MAX_SEQUENCE_STEP = 1_000
/** So many packets in a row that are no RTP: the framing is lost, and RFC 4571 has no way to find it again. */
const MAX_MALFORMED_IN_A_ROW = 50

export interface RtpStreamOptions {
  /** Shared by the streams of one child, so that their timestamps belong together. */
  readonly timeline?: Timeline
  readonly gop?: Partial<GopLimits>
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

export interface RtpStreamStats {
  readonly packets: number
  readonly bytes: number
  readonly units: number
  readonly keyUnits: number
  readonly malformedPackets: number
  /** Monotonic milliseconds (performance.now()) of the newest unit, undefined before the first. */
  readonly lastUnitMs: number | undefined
}

/** The child wrote something that is no RFC 4571 framed RTP; it cannot be read any further. */
export class RtpFramingError extends Error {
  constructor() {
    super('The media pipe does not carry framed RTP')
    this.name = 'RtpFramingError'
  }
}

/** One RTP stream over any number of children: SSRC, sequence numbers and timestamps go on when a child is replaced. */
export class RtpStream {
  readonly ssrc = randomBytes(4).readUInt32BE()
  readonly #now: () => number
  readonly #clock: StreamClock
  readonly #cache: GopCache
  readonly #reader = new Rfc4571Reader()
  readonly #unitListeners = new Set<(unit: AccessUnit) => void>()
  readonly #capsListeners = new Set<(caps: RtpCaps, previous: RtpCaps | undefined) => void>()
  #caps: RtpCaps | undefined
  #startsKeyFrame = keyFrameDetector('')
  #capsOfRun = false
  #live = false
  #pending: Buffer[] = []
  #pendingBytes = 0
  #open: Buffer[] = []
  #openTimestamp = 0
  #openIsKey = false
  #markersSeen = false
  #timer: NodeJS.Timeout | undefined
  #nextSequence = randomBytes(2).readUInt16BE()
  #sequenceDelta: number | undefined
  #malformedInARow = 0
  #stats = { packets: 0, bytes: 0, units: 0, keyUnits: 0, malformedPackets: 0, lastUnitMs: undefined as number | undefined }

  constructor(options: RtpStreamOptions = {}) {
    this.#now = options.now ?? (() => performance.now())
    this.#clock = new StreamClock(options.timeline ?? new Timeline(this.#now()), randomBytes(4).readUInt32BE())
    this.#cache = new GopCache(options.gop)
  }

  /** Caps of the stream, undefined before the first run told them. The payload type stays that of the first run. */
  get caps(): RtpCaps | undefined {
    return this.#caps
  }

  /** The access units since the newest key frame of the present run. */
  get gop(): Gop | undefined {
    return this.#cache.gop
  }

  /** A key frame of the present run has come. */
  get live(): boolean {
    return this.#live
  }

  get stats(): RtpStreamStats {
    return { ...this.#stats }
  }

  /** Calls back with every access unit, in order; returns what ends that. */
  onUnit(listener: (unit: AccessUnit) => void): () => void {
    this.#unitListeners.add(listener)
    return () => this.#unitListeners.delete(listener)
  }

  /** Calls back whenever caps were set, with those before. */
  onCaps(listener: (caps: RtpCaps, previous: RtpCaps | undefined) => void): () => void {
    this.#capsListeners.add(listener)
    return () => this.#capsListeners.delete(listener)
  }

  /** A new child writes from now on; its caps are awaited before its media is passed on. */
  begin(): void {
    this.end()
    this.#capsOfRun = false
    this.#sequenceDelta = undefined
    this.#clock.begin(this.#now())
  }

  /** The child is gone: what was begun is dropped, and a reader that joins now waits for the next run. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#reader.reset()
    this.#open = []
    this.#pending = []
    this.#pendingBytes = 0
    this.#malformedInARow = 0
    this.#live = false
    this.#cache.clear()
  }

  /** The caps of the present child's payloader. May come again, when parameter sets become known or change. */
  setCaps(caps: RtpCaps): void {
    const previous = this.#caps
    const same = previous !== undefined && sameFormat(previous, caps)
    this.#caps = same ? { ...caps, payload: previous.payload } : caps
    if (!this.#capsOfRun || !same) this.#clock.setCaps(caps)
    if (!same) {
      this.#startsKeyFrame = keyFrameDetector(caps.encodingName)
      this.#live = false
      this.#cache.clear()
    }
    this.#capsOfRun = true
    for (const listener of this.#capsListeners) listener(this.#caps, previous)
    this.#releasePending()
  }

  /** Takes what was read from the child's media pipe. Throws RtpFramingError when it cannot be framed RTP. */
  ingest(chunk: Buffer): void {
    this.#reader.push(chunk, (packet) => this.#packet(packet))
    if (this.#open.length > 0 || this.#pending.length > 0) this.#armTimer()
  }

  #packet(packet: Buffer): void {
    const range = payloadRange(packet)
    if (range === undefined) {
      this.#stats.malformedPackets += 1
      if (++this.#malformedInARow > MAX_MALFORMED_IN_A_ROW) throw new RtpFramingError()
      return
    }
    this.#malformedInARow = 0
    if (!this.#capsOfRun) {
      this.#hold(packet)
      return
    }
    const timestamp = timestampOf(packet)
    if (this.#open.length > 0 && (timestamp !== this.#openTimestamp || this.#open.length >= MAX_UNIT_PACKETS)) this.#closeUnit()
    this.#openTimestamp = timestamp
    this.#openIsKey ||= this.#startsKeyFrame(packet, range.start, range.end)
    this.#open.push(packet)
    if (hasMarker(packet)) {
      this.#markersSeen = true
      this.#closeUnit()
    }
  }

  // The caps come over stdout and the media over another pipe: either may be read first.
  #hold(packet: Buffer): void {
    this.#pendingBytes += packet.length
    if (this.#pendingBytes > MAX_PENDING_BYTES) {
      this.#pending = []
      this.#pendingBytes = packet.length
    }
    this.#pending.push(packet)
  }

  #releasePending(): void {
    const packets = this.#pending
    this.#pending = []
    this.#pendingBytes = 0
    for (const packet of packets) this.#packet(packet)
    if (this.#open.length > 0) this.#armTimer()
  }

  #armTimer(): void {
    if (this.#timer !== undefined) return
    const wait = this.#pending.length > 0 ? CAPS_TIMEOUT_MS : this.#markersSeen ? GATHER_WITH_MARKERS_MS : GATHER_MS
    const [first, count] = [this.#open[0], this.#open.length]
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // Timers run before the pipes are read: what waits in the pipe is part of the unit.
      setImmediate(() => this.#timedOut(first, count))
    }, wait)
    this.#timer.unref()
  }

  #timedOut(first: Buffer | undefined, count: number): void {
    if (this.#pending.length > 0 && !this.#capsOfRun && this.#caps) this.setCaps(withoutOffset(this.#caps))
    else if (this.#open.length > 0 && this.#open[0] === first && this.#open.length === count) this.#closeUnit()
    if ((this.#open.length > 0 || (this.#pending.length > 0 && this.#caps)) && this.#timer === undefined) this.#armTimer()
  }

  #closeUnit(): void {
    const packets = this.#open
    const caps = this.#caps
    const key = this.#openIsKey
    this.#open = []
    this.#openIsKey = false
    if (caps === undefined || packets.length === 0) return
    const arrivedMs = this.#now()
    const { timestamp, mediaMs } = this.#clock.map(this.#openTimestamp, arrivedMs)
    const sequences = packets.map((packet) => this.#sequence(sequenceOf(packet)))
    const header = { payload: caps.payload, ssrc: this.ssrc, timestamp, sequences }
    this.#emit(new AccessUnit(packets, header, { index: this.#stats.units, key, mediaMs, arrivedMs }))
  }

  /** A loss before us stays a gap that the readers can see; a new child goes on behind the last one. */
  #sequence(raw: number): number {
    const expected = this.#sequenceDelta === undefined ? raw : (this.#nextSequence - this.#sequenceDelta) & 0xffff
    const step = (raw - expected) & 0xffff
    if (this.#sequenceDelta === undefined || (step > MAX_SEQUENCE_STEP && step < 0x10000 - MAX_SEQUENCE_STEP))
      this.#sequenceDelta = (this.#nextSequence - raw) & 0xffff
    const sequence = (raw + this.#sequenceDelta) & 0xffff
    if (((sequence - this.#nextSequence) & 0xffff) < 0x8000) this.#nextSequence = (sequence + 1) & 0xffff
    return sequence
  }

  #emit(unit: AccessUnit): void {
    this.#stats.packets += unit.packetCount
    this.#stats.bytes += unit.bytes
    this.#stats.units += 1
    this.#stats.lastUnitMs = unit.arrivedMs
    if (unit.key) {
      this.#stats.keyUnits += 1
      this.#live = true
    }
    this.#cache.add(unit)
    for (const listener of this.#unitListeners) listener(unit)
    unit.release()
  }

  /** The sequence number that the next packet will have. */
  get nextSequence(): number {
    return this.#nextSequence
  }

  /** Media time at which the running time of the present run began, monotonic milliseconds; known with its first unit. */
  get runStartMs(): number {
    return this.#clock.runStartMs
  }

  /** RTP timestamp of a media time of this stream, monotonic milliseconds. */
  timestampAt(mediaMs: number): number {
    return this.#clock.timestampAt(mediaMs)
  }

  /** RTP timestamp that stands for the moment `nowMs` of the monotonic clock (sender reports, RFC 3550 section 6.4.1). */
  timestampNow(nowMs: number): number {
    return this.#clock.timestampNow(nowMs)
  }
}

// The offset was random in the run before: it says nothing of this one.
const withoutOffset = (caps: RtpCaps): RtpCaps => ({
  ...caps,
  parameters: new Map([...caps.parameters].filter(([name]) => name !== 'timestamp-offset')),
})
