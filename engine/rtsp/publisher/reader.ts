import type { AccessUnit } from '../../rtp/access-unit.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import type { Sink } from './sinks/sink.ts'

/** The cached GOP of a reader that joins spans at most this much of media time. */
const CATCH_UP_MS = 40
/** Entries already sent that the queue of a reader which is always a little behind may hold. */
const COMPACT_AT = 256

export interface ReaderLimits {
  readonly queuedBytes: number
  readonly lagMs: number
}

/** Counters of all readers of a mount. */
export interface ReaderCounters {
  bytesOut: number
  unitsOut: number
  gopDrops: number
}

interface Track {
  readonly stream: RtpStream
  /** A decoder cannot start at the units that come before the next key frame. */
  waitsForKey: boolean
  /** Units up to this one belong to the cached GOP and are drawn together. */
  catchUpIndex: number
  lastIndex: number
}

interface Entry {
  readonly track: number
  readonly unit: AccessUnit
  /** Monotonic milliseconds since when it waits. */
  readonly sinceMs: number
}

/** Where one track begins, for RTP-Info; without a sequence number when the next key frame decides. */
export interface TrackStart {
  readonly timestamp: number
  readonly sequence: number | undefined
}

/** Draws media times before `referenceMs` together, linearly: their order stays. */
interface CatchUp {
  readonly startMs: number
  readonly referenceMs: number
  readonly factor: number
}

const NO_CATCH_UP: CatchUp = { startMs: Number.NEGATIVE_INFINITY, referenceMs: Number.NEGATIVE_INFINITY, factor: 1 }

const planCatchUp = (gops: readonly (readonly AccessUnit[])[], nowMs: number): CatchUp => {
  const times = gops.flatMap((units) => units.map((unit) => unit.mediaMs))
  if (times.length === 0) return { startMs: nowMs, referenceMs: Number.NEGATIVE_INFINITY, factor: 1 }
  // The longest GOP sets the span; a lone unit of a sparse stream may be far older than the picture.
  const longest = gops.reduce((one, other) => (other.length > one.length ? other : one), [])
  const startMs = longest.reduce((least, unit) => Math.min(least, unit.mediaMs), Number.POSITIVE_INFINITY)
  const referenceMs = longest.reduce((most, unit) => Math.max(most, unit.mediaMs), startMs)
  return { startMs, referenceMs, factor: Math.min(1, CATCH_UP_MS / Math.max(1, referenceMs - startMs)) }
}

const drawTogether = (plan: CatchUp, mediaMs: number): number =>
  mediaMs >= plan.referenceMs ? mediaMs : plan.referenceMs - (plan.referenceMs - Math.max(plan.startMs, mediaMs)) * plan.factor

/** The media side of one playing session: what it gets, from where on, and what it loses when it cannot follow. */
export class Reader {
  readonly #tracks: (Track | undefined)[]
  readonly #sink: Sink
  readonly #limits: ReaderLimits
  readonly #counters: ReaderCounters
  #queue: Entry[] = []
  #head = 0
  #queuedBytes = 0
  #catchUp: CatchUp = NO_CATCH_UP
  #playing = false

  /** `streams` by number of the mount's stream; a stream that was not set up is undefined. */
  constructor(streams: readonly (RtpStream | undefined)[], sink: Sink, limits: ReaderLimits, counters: ReaderCounters) {
    this.#tracks = streams.map((stream) => stream && { stream, waitsForKey: true, catchUpIndex: -1, lastIndex: -1 })
    this.#sink = sink
    this.#limits = limits
    this.#counters = counters
    sink.onReady = () => this.#flush()
  }

  /** Plans the begin: the cached GOP now, or the next key frame. Call `start` when the answer has been written. */
  prepare(nowMs: number): readonly (TrackStart | undefined)[] {
    const gops = this.#tracks.map((track) => {
      const units = track?.stream.gop?.units ?? []
      // What was sent before a pause is not sent again: sequence numbers never go back.
      return track && (units[0]?.index ?? -1) > track.lastIndex ? units : []
    })
    this.#clear()
    this.#catchUp = planCatchUp(gops, nowMs)
    for (const [at, units] of gops.entries()) this.#enqueueGop(at, units, nowMs)
    return this.#tracks.map((track, at) => track && this.#startOf(track, gops[at]?.[0], nowMs))
  }

  #enqueueGop(at: number, units: readonly AccessUnit[], nowMs: number): void {
    const track = this.#tracks[at]
    if (!track) return
    track.waitsForKey = units.length === 0
    track.catchUpIndex = units.at(-1)?.index ?? -1
    for (const unit of units) this.#enqueue(at, unit, nowMs)
  }

  // One moment for all tracks, so that a player lines them up before the first sender report (RFC 2326 section 12.33).
  #startOf({ stream }: Track, first: AccessUnit | undefined, nowMs: number): TrackStart {
    const { startMs, referenceMs } = this.#catchUp
    const timestamp = Number.isFinite(referenceMs) ? stream.timestampAt(drawTogether(this.#catchUp, startMs)) : stream.timestampNow(nowMs)
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

  /** Takes the next access unit of one of the mount's streams. */
  offer(at: number, unit: AccessUnit): void {
    const track = this.#tracks[at]
    if (track === undefined || !this.#playing) return
    if (track.waitsForKey) {
      if (!unit.key) return
      track.waitsForKey = false
    }
    if (this.#head === this.#queue.length && !this.#sink.busy) {
      this.#send(at, track, unit)
      return
    }
    if (unit.key && at === this.#pacemaker && this.#lagMs(unit) > this.#limits.lagMs) {
      this.#drop()
      track.waitsForKey = false
    }
    this.#enqueue(at, unit, unit.arrivedMs)
    if (this.#queuedBytes > this.#limits.queuedBytes) this.#dropToKey()
  }

  /** Passes an RTCP packet on, after the media that stands before it. */
  report(at: number, packet: Buffer): void {
    if (this.#tracks[at] !== undefined && this.#playing && this.#head === this.#queue.length) this.#sink.sendReport(at, packet)
  }

  /** The track whose key frames decide where a reader that fell behind goes on: the first. */
  get #pacemaker(): number {
    return this.#tracks.findIndex((track) => track !== undefined)
  }

  #lagMs(newest: AccessUnit): number {
    const oldest = this.#queue[this.#head]
    return oldest === undefined ? 0 : newest.arrivedMs - oldest.sinceMs
  }

  #enqueue(track: number, unit: AccessUnit, sinceMs: number): void {
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

  #send(at: number, track: Track, unit: AccessUnit): void {
    const timestamp = unit.index <= track.catchUpIndex ? track.stream.timestampAt(drawTogether(this.#catchUp, unit.mediaMs)) : undefined
    track.lastIndex = unit.index
    this.#counters.bytesOut += this.#sink.send(at, unit, timestamp)
    this.#counters.unitsOut += 1
  }

  /**
   * Everything that waits is lost. The sequence numbers show the gap: rewriting them per reader would cost each
   * reader a copy of its own, and would hide from the player that pictures are missing.
   */
  #drop(): void {
    if (this.#head < this.#queue.length) this.#counters.gopDrops += 1
    this.#clear()
    for (const track of this.#tracks) if (track) track.waitsForKey = true
  }

  /** Over the bound: goes on from the newest key frame that waits, or waits for the next one. */
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
    if (this.#queuedBytes > this.#limits.queuedBytes) this.#drop()
  }

  #clear(): void {
    this.#queue = []
    this.#head = 0
    this.#queuedBytes = 0
  }
}
