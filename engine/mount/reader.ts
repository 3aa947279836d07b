import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { type CatchUp, compress, NO_CATCH_UP, planCatchUp } from './catch-up.ts'
import type { PublisherLimits } from './limits.ts'
import type { Sink } from './sink.ts'

/** A queue with this many sent entries is compacted, for a reader that is always a little behind. */
const COMPACT_AT = 256

/** Units that may wait for one slow reader, however small: each needs some hundred bytes besides its packets. A cached GOP has fewer. */
const MAX_QUEUED_UNITS = 16_384

/** Counters of all readers of a mount. */
export interface ReaderCounters {
  bytesOut: number
  gopDrops: number
}

interface ReaderTrack {
  readonly stream: RtpStream
  /** Units are dropped until the next key frame, since a decoder cannot start at them. */
  waitsForKey: boolean
  /** Units up to this one belong to the cached GOP; their timestamps are compressed. */
  catchUpIndex: number
  lastIndex: number
  /** Returns what is sent in place of a unit; set by the first `prepare`. */
  replace: ReplaceUnit | undefined
}

type ReplaceUnit = (unit: AccessUnit) => AccessUnit

/** How a reader learns the frame rate. */
interface RateForReader {
  /** Returns what it gets in place of the units of a stream. */
  readonly replaceFor: (stream: RtpStream) => ReplaceUnit
  /** Its description did not state the rate. */
  readonly guessed: boolean
}

const AS_IT_IS: RateForReader = { replaceFor: () => (unit) => unit, guessed: false }

interface Entry {
  readonly track: number
  readonly unit: AccessUnit
  /** Enqueued at, monotonic milliseconds. */
  readonly sinceMs: number
}

/** Where one track begins, for RTP-Info; without a sequence number when it begins with the next key frame. */
export interface TrackStart {
  readonly timestamp: number
  readonly sequence: number | undefined
}

/**
 * The media of one playing session: where it starts (the cached GOP or the next key frame), its queue, and the slow-reader
 * policy: a reader beyond `queuedBytes` or `lagMs` loses whole GOPs and continues at a key frame.
 */
export class Reader {
  readonly #tracks: (ReaderTrack | undefined)[]
  readonly #sink: Sink
  readonly #limits: Pick<PublisherLimits, 'queuedBytes' | 'lagMs'>
  readonly #counters: ReaderCounters
  readonly #rate: RateForReader
  #queue: Entry[] = []
  #head = 0
  #queuedBytes = 0
  /** Bytes of the GOP that the reader began with, until its queue is empty: it may be larger than the limit. */
  #joinedBytes = 0
  #catchUp: CatchUp = NO_CATCH_UP
  #playing = false
  /** Media time at which the pictures begin: sound that comes late may be older. */
  #soundFromMs = Number.NEGATIVE_INFINITY

  /** `streams` by number of the mount's stream; a stream that was not set up is undefined. */
  constructor(
    streams: readonly (RtpStream | undefined)[],
    sink: Sink,
    limits: Pick<PublisherLimits, 'queuedBytes' | 'lagMs'>,
    counters: ReaderCounters,
    rate = AS_IT_IS,
  ) {
    this.#tracks = streams.map((stream) => stream && { stream, waitsForKey: true, catchUpIndex: -1, lastIndex: -1, replace: undefined })
    this.#rate = rate
    this.#sink = sink
    this.#limits = limits
    this.#counters = counters
    sink.onReady = () => this.#flush()
  }

  /** Plans the start: the cached GOP now, or the next key frame. Call `start` when the response has been written. */
  prepare(nowMs: number): readonly (TrackStart | undefined)[] {
    const leads = (track: ReaderTrack | undefined): boolean => track === undefined || !this.#follows(track)
    const gops = this.#tracks.map((track) => (track && leads(track) ? cachedUnits(track) : []))
    this.#clear()
    for (const track of this.#tracks) if (track) track.replace ??= this.#rate.replaceFor(track.stream)
    this.#catchUp = planCatchUp(gops, nowMs, this.#rate.guessed)
    const begins = this.#tracks.map((track, at) => (track && !leads(track) ? this.#soundOf(track) : (gops[at] ?? [])))
    for (const [at, units] of begins.entries()) this.#begin(at, units)
    for (const { track, unit } of inOrder(begins, this.#tracks.map(leads))) this.#enqueue(track, unit, nowMs)
    this.#joinedBytes = this.#queuedBytes
    return this.#tracks.map((track, at) => track && this.#startOf(track, begins[at]?.[0], nowMs))
  }

  /** The cached sound of the moment at which the pictures begin for this reader; none before the first picture. */
  #soundOf(track: ReaderTrack): readonly AccessUnit[] {
    const { startMs, referenceMs } = this.#catchUp
    if (!Number.isFinite(referenceMs)) return []
    this.#soundFromMs = this.#sink.timesSound === true ? startMs : compress(this.#catchUp, startMs)
    return cachedUnits(track).filter(({ mediaMs }) => mediaMs >= this.#soundFromMs)
  }

  /** It begins and pauses with another track. */
  #follows(track: ReaderTrack): boolean {
    return track.stream.follows && track !== this.#tracks[this.#pacemaker]
  }

  #begin(at: number, units: readonly AccessUnit[]): void {
    const track = this.#tracks[at]
    if (!track) return
    track.waitsForKey = units.length === 0
    track.catchUpIndex = this.#follows(track) ? -1 : (units.at(-1)?.index ?? -1)
  }

  // The same moment for all tracks, so that a player can align them before the first sender report (RFC 2326 section 12.33).
  #startOf({ stream }: ReaderTrack, first: AccessUnit | undefined, nowMs: number): TrackStart {
    const { startMs, referenceMs } = this.#catchUp
    const timestamp = Number.isFinite(referenceMs) ? stream.timestampAt(compress(this.#catchUp, startMs)) : stream.timestampNow(nowMs)
    return { timestamp, sequence: first?.firstSequence }
  }

  start(): void {
    this.#playing = true
    this.#flush()
  }

  pause(): void {
    this.#playing = false
    this.#clear()
  }

  /** Sends or queues the next access unit of one of the mount's streams. */
  offer(at: number, unit: AccessUnit): void {
    const track = this.#tracks[at]
    // The newest of the cached units is still being handed out when a reader begins at its arrival.
    if (track === undefined || !this.#playing || unit.index <= track.catchUpIndex) return
    if (track.waitsForKey) {
      if (!unit.key || (this.#follows(track) && this.#tracks[this.#pacemaker]?.waitsForKey === true)) return
      track.waitsForKey = false
      if (at === this.#pacemaker) this.#soundFromMs = unit.mediaMs
    }
    if (unit.mediaMs < this.#soundFromMs && this.#follows(track)) return
    if (this.#head === this.#queue.length && !this.#sink.busy) {
      this.#send(at, track, unit)
      return
    }
    if (unit.key && at === this.#pacemaker && this.#lagMs(unit) > this.#limits.lagMs) {
      this.#drop()
      track.waitsForKey = false
    }
    this.#enqueue(at, unit, unit.arrivedMs)
    if (this.#isOverLimit) this.#dropToKey()
  }

  /** The queue is empty. */
  get drained(): boolean {
    return this.#head === this.#queue.length
  }

  /** Sends an RTCP packet, unless media is queued before it. */
  report(at: number, packet: Buffer): void {
    if (this.#tracks[at] !== undefined && this.#playing && this.#head === this.#queue.length) this.#sink.sendReport(at, packet)
  }

  /** The track whose key frames decide where a slow reader continues: the first that was set up. */
  get #pacemaker(): number {
    return this.#tracks.findIndex((track) => track !== undefined)
  }

  #lagMs(newest: AccessUnit): number {
    const oldest = this.#queue[this.#head]
    return oldest === undefined ? 0 : newest.arrivedMs - oldest.sinceMs
  }

  get #isOverLimit(): boolean {
    return this.#queuedBytes > this.#limits.queuedBytes + this.#joinedBytes || this.#queue.length - this.#head > MAX_QUEUED_UNITS
  }

  #enqueue(track: number, unit: AccessUnit, sinceMs: number): void {
    this.#sink.waits?.(track, unit)
    this.#queue.push({ track, unit, sinceMs })
    this.#queuedBytes += unit.bytes
  }

  #flush(): void {
    while (this.#playing && this.#head < this.#queue.length && !this.#sink.busy) {
      const entry = this.#queue[this.#head++]
      const track = entry && this.#tracks[entry.track]
      if (!entry || !track) continue
      this.#queuedBytes -= entry.unit.bytes
      this.#send(entry.track, track, entry.unit)
    }
    if (this.#head === this.#queue.length) this.#clear()
    else if (this.#head >= COMPACT_AT) this.#queue = this.#queue.slice(this.#head)
    if (this.#head >= COMPACT_AT) this.#head = 0
  }

  #send(at: number, track: ReaderTrack, unit: AccessUnit): void {
    const timestamp = unit.index <= track.catchUpIndex ? track.stream.timestampAt(compress(this.#catchUp, unit.mediaMs)) : undefined
    track.lastIndex = unit.index
    this.#counters.bytesOut += this.#sink.send(at, track.replace?.(unit) ?? unit, timestamp)
  }

  /**
   * Drops the queue. The sequence numbers show the gap: rewriting them would cost a copy per reader, and would hide
   * from the player that pictures are missing.
   */
  #drop(): void {
    if (this.#head < this.#queue.length) this.#counters.gopDrops += 1
    this.#clear()
    for (const track of this.#tracks) if (track) track.waitsForKey = true
  }

  /** Over the limit: continues at the newest queued key frame, or waits for the next one. */
  #dropToKey(): void {
    const pacemaker = this.#pacemaker
    const rest = this.#queue.slice(this.#head)
    const key = rest.findLastIndex((entry) => entry.track === pacemaker && entry.unit.key)
    this.#drop()
    if (key <= 0) return
    for (const entry of rest.slice(key)) {
      const track = this.#tracks[entry.track]
      if (track === undefined || (track.waitsForKey && !entry.unit.key)) continue
      track.waitsForKey = false
      this.#enqueue(entry.track, entry.unit, entry.sinceMs)
    }
    if (this.#isOverLimit) this.#drop()
  }

  #clear(): void {
    this.#queue = []
    this.#head = 0
    this.#queuedBytes = 0
    this.#joinedBytes = 0
  }
}

/** Units sent before a pause are not sent again: sequence numbers never go back. */
const cachedUnits = ({ stream, lastIndex }: ReaderTrack): readonly AccessUnit[] => {
  const units = stream.gop?.units ?? []
  if (stream.follows) return units.filter(({ index }) => index > lastIndex)
  return (units[0]?.index ?? -1) > lastIndex ? units : []
}

/** Pictures and sound as they came, so that none is far behind what is shown with it; the others at the end. `leads`: by track; sound does not. */
const inOrder = (begins: readonly (readonly AccessUnit[])[], leads: readonly boolean[]) => {
  const entries = begins.map((units, track) => units.map((unit) => ({ track, unit })))
  const sound = entries.filter((_, track) => leads[track] === false).flat()
  const [pictures = [], ...others] = entries.filter((_, track) => leads[track] !== false)
  const together = sound.length === 0 ? pictures : [...pictures, ...sound].sort((one, other) => one.unit.arrivedMs - other.unit.arrivedMs)
  return [...together, ...others.flat()]
}
