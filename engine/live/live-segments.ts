import { PacketReader, type PictureStart, ticksBetween } from '../mpegts/packet-reader.ts'
import { type LivePlaylist, type LiveSegment, livePlaylistOf, liveSegmentName } from './live-playlist.ts'

interface LiveSegmentsParts {
  /** What was cut of the pipeline before; a player may go on with what comes now. */
  readonly before: Pick<LiveSegments, 'next' | 'discontinuities'> | undefined
  /** When the first picture arrived, milliseconds since the epoch; undefined: when it comes. */
  readonly firstStartedAt: number | undefined
  /** Codec and size of the video now. */
  readonly format: () => string
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface Open {
  readonly startedAt: number
  readonly isNew: boolean
  readonly kind: string
  readonly firstDts: number
  lastDts: number
  /** Ticks between the last two pictures. */
  frameTicks: number
  readonly packets: Buffer[]
  bytes: number
}

/** A segment ends at the first key frame after this, seconds; a key frame that comes a little early counts. */
const SEGMENT_SECONDS = 1.9
const SHORTEST_TARGET = 2
/** RFC 8216 section 4.3.3.1: rounded, no segment is longer than the target. Some of the half second is for the next segments. */
const MOST_OVER_TARGET = 0.49
const TARGET_SLACK = 0.25
/** The tables come at least this often, so that a segment can begin soon after it is due. */
const TABLES_SECONDS = 0.1
/** Without a key frame a segment ends at any picture before it is longer than this. */
const LONGEST_TARGET = 10
const LISTED = 6
/** Players may be reading those that have just left the playlist (RFC 8216 section 6.2.2). */
const KEPT = LISTED + 2
const MAX_SEGMENT_BYTES = 32 * 1024 * 1024
const MAX_BYTES = 96 * 1024 * 1024
const TICKS_PER_SECOND = 90_000

/** The last segments of live video, cut in memory. */
export class LiveSegments {
  readonly #parts: LiveSegmentsParts
  readonly #reader = new PacketReader()
  readonly #waiting = new Set<() => void>()
  #open: Open | undefined
  #complete: LiveSegment[] = []
  #next: number
  #targetSeconds: number | undefined
  /** In what has left the playlist. */
  #discontinuitiesLeft: number
  #isContinued = false
  #startsAt: number | undefined
  #lastKind: string | undefined
  #ended = false

  constructor(parts: LiveSegmentsParts) {
    this.#parts = parts
    const { before, now, firstStartedAt } = parts
    // Higher than any number of an earlier process, whose segments a cache may have.
    this.#next = Math.max(before?.next ?? 0, Math.floor(now() / 1000))
    this.#discontinuitiesLeft = before?.discontinuities ?? 0
    this.#startsAt = firstStartedAt
  }

  /** The number after the last segment. */
  get next(): number {
    return this.#next
  }

  get discontinuities(): number {
    return this.#discontinuitiesLeft + this.#complete.filter(({ isNew }) => isNew).length
  }

  /** There is something to list, or never will be. */
  get isReady(): boolean {
    return this.#ended || this.#complete.length > 0
  }

  get isEmpty(): boolean {
    return this.#complete.length === 0
  }

  /** The packets of one unit. They must not change afterwards. */
  push(packets: Buffer): void {
    let picture: PictureStart | undefined
    this.#reader.read(packets, (found) => {
      picture = found
    })
    // Only what begins with the tables can begin a segment.
    const hasTables = (packets.readUInt16BE(1) & 0x1fff) === 0
    if (picture !== undefined && hasTables && this.#isDue(picture)) this.#begin(picture)
    const open = this.#open
    if (open === undefined) return
    if (picture !== undefined) advance(open, picture)
    open.packets.push(packets)
    open.bytes += packets.length
  }

  /** Ends the present segment: what comes next does not continue it. */
  interrupt(): void {
    this.#finish(undefined)
    this.#isContinued = false
  }

  /** Nothing more comes. */
  end(): void {
    this.interrupt()
    this.#ended = true
    this.#wake()
  }

  /** Resolves when `isReady`, or after the time, milliseconds. */
  async untilReady(ms: number): Promise<void> {
    if (this.isReady) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, ms)
    this.#waiting.add(resolve)
    await promise
    clearTimeout(timer)
    this.#waiting.delete(resolve)
  }

  playlist(folder: string): string {
    const segments = this.#complete.slice(-LISTED)
    const left = this.#complete.slice(0, -LISTED).filter(({ isNew }) => isNew).length
    const list: LivePlaylist = {
      segments,
      targetSeconds: this.#targetSeconds ?? SHORTEST_TARGET,
      discontinuities: this.#discontinuitiesLeft + left,
      ended: this.#ended,
    }
    return livePlaylistOf(list, folder)
  }

  /** The segment of this name; undefined for one that is no longer there. */
  find(name: string): LiveSegment | undefined {
    return this.#complete.find(({ number }) => liveSegmentName(number) === name)
  }

  #isDue({ key, dts }: PictureStart): boolean {
    const open = this.#open
    if (open === undefined) return key
    const seconds = ticksBetween(open.firstDts, dts) / TICKS_PER_SECOND
    if (key && (seconds >= SEGMENT_SECONDS || open.kind !== this.#kind)) return true
    const most = this.#targetSeconds ?? LONGEST_TARGET
    const next = seconds + open.frameTicks / TICKS_PER_SECOND
    return next + TABLES_SECONDS > most + MOST_OVER_TARGET || seconds < 0 || open.bytes > MAX_SEGMENT_BYTES
  }

  #begin({ dts }: PictureStart): void {
    this.#finish(dts)
    const kind = this.#kind
    const before = this.#complete.at(-1)
    const isContinued = this.#isContinued && before !== undefined && this.#lastKind === kind
    const startedAt = this.#startsAt ?? (isContinued ? before.startedAt + before.seconds * 1000 : this.#parts.now())
    this.#startsAt = undefined
    this.#isContinued = true
    this.#lastKind = kind
    const isNew = !isContinued && (before !== undefined || this.#parts.before !== undefined)
    this.#open = { startedAt, isNew, kind, firstDts: dts, lastDts: dts, frameTicks: 0, packets: [], bytes: 0 }
  }

  /** `nextDts`: where the next segment begins without a gap. */
  #finish(nextDts: number | undefined): void {
    const open = this.#open
    this.#open = undefined
    if (open === undefined) return
    const { startedAt, isNew, packets, bytes, firstDts, lastDts, frameTicks } = open
    const ticks = nextDts === undefined ? ticksBetween(firstDts, lastDts) + frameTicks : ticksBetween(firstDts, nextDts)
    const seconds = Math.max(0.001, ticks / TICKS_PER_SECOND)
    this.#targetSeconds ??= Math.max(SHORTEST_TARGET, Math.ceil(seconds - TARGET_SLACK))
    this.#complete.push({ number: this.#next, startedAt, seconds, isNew, packets, bytes })
    this.#next += 1
    this.#trim()
    this.#wake()
  }

  #trim(): void {
    let bytes = this.#complete.reduce((sum, segment) => sum + segment.bytes, 0)
    while (this.#complete.length > KEPT || (bytes > MAX_BYTES && this.#complete.length > 1)) {
      const left = this.#complete.shift()
      bytes -= left?.bytes ?? 0
      if (left?.isNew === true) this.#discontinuitiesLeft += 1
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  /** What a decoder is set up for. */
  get #kind(): string {
    return [this.#parts.format(), ...this.#reader.tracks.map(({ name }) => name)].join(' ')
  }
}

const advance = (open: Open, { dts }: PictureStart): void => {
  const ticks = ticksBetween(open.lastDts, dts)
  if (ticks > 0) open.frameTicks = ticks
  open.lastDts = dts
}
