import type { Log } from '../../lib/ports.ts'
import type { SecondSeen, Segment, WrittenSegment } from '../../lib/segments/segment.ts'
import { PacketReader, type PictureStart, ticksBetween } from '../mpegts/packet-reader.ts'
import { DISK_SLOW, type RecordingFault, recordingFault } from './recording-fault.ts'
import type { Recordings } from './recordings.ts'
import type { SegmentFile } from './segment-file.ts'

interface CutterParts {
  readonly id: string
  readonly run: string
  readonly store: Recordings
  readonly log: Log
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Codec and size of the video now. */
  readonly format: () => string
  /** What the sensor has seen since the last `takeSeen`. */
  readonly seen: () => readonly SecondSeen[]
  readonly takeSeen: () => readonly SecondSeen[]
  readonly onFault: (fault: RecordingFault) => void
  /** Video is on its way to the disk. */
  readonly onWritten: () => void
}

interface Current {
  readonly file: SegmentFile
  readonly startedAt: number
  /** The same, monotonic. */
  readonly startedMs: number
  readonly span: number
  readonly format: string
  readonly reader: PacketReader
  readonly firstDts: number
  lastDts: number
  /** Ticks between the last two pictures. */
  frameTicks: number
  tracks: readonly string[]
  /** What of it is on the disk: bytes, and the end of its last picture, milliseconds since the epoch. */
  played: { readonly bytes: number; readonly endedAt: number } | undefined
}

/** Media goes to the disk at least this often, so that a crash loses less than a second. Milliseconds. */
const FRAGMENT_MS = 400
/** A segment may end this much before its time, so that key frames which come a little early do not make it longer by a GOP. */
const EARLY_MS = 100
/** More that waits for a disk than this is given up. */
const MAX_QUEUED_BYTES = 16 * 1024 * 1024
const MAX_WAIT_MS = 10_000
/** Segments that wait to be completed. */
const MAX_CLOSING = 4
/** The pause after a fault, milliseconds; doubles up to the most. */
const RETRY_MS = 500
const MAX_RETRY_MS = 4000
/** A clock that differs more from the time of the media, and from the time that has passed, was set. */
const CLOCK_STEP_MS = 1000
const TICKS_PER_MS = 90

/** Cuts the MPEG-TS of a pipeline into segments, each of which begins with a key frame, and hands them to the disk. */
export class SegmentCutter {
  readonly #parts: CutterParts
  #current: Current | undefined
  #closing = new Set<Promise<void>>()
  #flushedMs = 0
  /** When the first of what waits came. */
  #waitingSinceMs: number | undefined
  #retryAtMs = Number.NEGATIVE_INFINITY
  #retryMs = RETRY_MS

  constructor(parts: CutterParts) {
    this.#parts = parts
  }

  /** Whether a segment is being written. */
  get isOpen(): boolean {
    return this.#current !== undefined
  }

  /** The packets of one access unit. They must not change afterwards. */
  push(packets: Buffer): void {
    // Only units that begin with the tables can be key frames.
    if ((packets.readUInt16BE(1) & 0x1fff) === 0) {
      const reader = new PacketReader()
      const picture = pictureOf(reader, packets)
      if (picture?.key === true && this.#isDue()) {
        this.#begin(packets, reader, picture)
        return
      }
    }
    const { reader, file } = this.#current ?? {}
    if (this.#current === undefined || reader === undefined) return
    const picture = pictureOf(reader, packets)
    if (picture !== undefined) this.#advance(this.#current, picture)
    file?.push(packets)
    this.#afterPush()
  }

  /** Hands to the disk what has waited long enough; gives up what waits too long. */
  tick(): void {
    if (this.#current === undefined) return
    const { file } = this.#current
    const nowMs = performance.now()
    if (file.queuedBytes === 0) this.#waitingSinceMs = undefined
    else if (nowMs - this.#flushedMs >= FRAGMENT_MS) this.#flush(this.#current, nowMs)
    const waitedMs = this.#waitingSinceMs === undefined ? 0 : nowMs - this.#waitingSinceMs
    if (file.error !== undefined) this.#fail(recordingFault(file.error))
    else if (file.queuedBytes > MAX_QUEUED_BYTES || waitedMs > MAX_WAIT_MS || this.#closing.size > MAX_CLOSING) {
      file.abandon(new Error('the disk is too slow'))
      this.#fail(DISK_SLOW)
    } else if (this.#parts.store.fault !== undefined) this.#fail(this.#parts.store.fault)
  }

  /** Ends the span. Resolves when all of it is on the disk. */
  async finish(): Promise<void> {
    this.#complete(undefined)
    await Promise.all(this.#closing)
  }

  #isDue(): boolean {
    const { store } = this.#parts
    const nowMs = performance.now()
    if (this.#current === undefined) {
      if (nowMs < this.#retryAtMs || this.#closing.size > MAX_CLOSING) return false
      if (store.fault === undefined) return store.isOpen
      this.#fail(store.fault)
      return false
    }
    const age = this.#parts.now() - this.#current.startedAt
    return age < 0 || age >= store.segmentSeconds * 1000 - EARLY_MS || this.#current.format !== this.#parts.format()
  }

  #begin(packets: Buffer, reader: PacketReader, { dts }: PictureStart): void {
    const { store, id, now, run, takeSeen } = this.#parts
    const format = this.#parts.format()
    const startedAt = now()
    const before = this.#current
    if (before === undefined) takeSeen()
    const span = before !== undefined && before.format === format && continues(before, startedAt, dts) ? before.span : startedAt
    this.#complete(span === startedAt ? undefined : startedAt)
    const current: Current = {
      file: store.create({ id, started_at: startedAt, span, run, format }, () => this.#played(current)),
      startedAt,
      startedMs: performance.now(),
      span,
      format,
      reader,
      firstDts: dts,
      lastDts: dts,
      frameTicks: before?.frameTicks ?? 0,
      tracks: namesOf(reader),
      played: undefined,
    }
    this.#current = current
    current.file.push(packets)
    this.#afterPush()
    this.#flush(current, performance.now())
  }

  #advance(current: Current, { dts }: PictureStart): void {
    current.frameTicks = Math.max(0, ticksBetween(current.lastDts, dts))
    current.lastDts = dts
    if (current.tracks.length !== current.reader.tracks.length) current.tracks = namesOf(current.reader)
  }

  #afterPush(): void {
    const nowMs = performance.now()
    this.#waitingSinceMs ??= nowMs
    if (nowMs - this.#flushedMs >= FRAGMENT_MS) this.tick()
  }

  #flush(current: Current, nowMs: number): void {
    const { file } = current
    this.#flushedMs = nowMs
    void file.flush().then(() => {
      if (file.error === undefined && file.queuedBytes === 0) current.played = { bytes: file.writtenBytes, endedAt: endOf(current) }
      if (current !== this.#current) return
      if (file.error !== undefined) return this.tick()
      this.#waitingSinceMs = file.queuedBytes === 0 ? undefined : performance.now()
      this.#retryMs = RETRY_MS
      this.#parts.onWritten()
    })
  }

  #played({ played, startedAt, tracks, format, span, firstDts }: Current): WrittenSegment | undefined {
    if (played === undefined) return undefined
    const { id, run, seen } = this.#parts
    const { bytes, endedAt } = played
    const times = { started_at: startedAt, ended_at: endedAt, first_dts: firstDts }
    return { pipeline_id: id, ...times, bytes, tracks, format, span, run, counts: undefined, seen: seen() }
  }

  #fail(fault: RecordingFault): void {
    this.#complete(undefined)
    this.#retryAtMs = performance.now() + this.#retryMs
    this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS)
    this.#parts.onFault(fault)
  }

  /** Ends the present segment; `nextAt`: when the next one began without a gap. */
  #complete(nextAt: number | undefined): void {
    const current = this.#current
    if (current === undefined) return
    this.#current = undefined
    this.#waitingSinceMs = undefined
    const { store, log, id, run, takeSeen } = this.#parts
    const { startedAt, span, reader, firstDts, tracks, format } = current
    const facts: Omit<Segment, 'bytes'> = {
      pipeline_id: id,
      started_at: startedAt,
      ended_at: nextAt === undefined ? endOf(current) : Math.max(nextAt, startedAt + 1),
      tracks,
      format,
      span,
      run,
      first_dts: firstDts,
      counts: countsOf(reader),
      seen: takeSeen(),
    }
    const done = store
      .complete(facts, current.file)
      .catch((error: unknown) => {
        log.warn('segment_not_completed', { pipeline_id: id, error })
        this.#parts.onFault(recordingFault(error))
      })
      .finally(() => this.#closing.delete(done))
    this.#closing.add(done)
  }
}

/** When the last picture of a segment ends, by the times of the media. */
const endOf = ({ startedAt, firstDts, lastDts, frameTicks }: Current): number =>
  Math.max(Math.round(startedAt + (ticksBetween(firstDts, lastDts) + frameTicks) / TICKS_PER_MS), startedAt + 1)

/** Whether a segment that begins now has no gap to the one before: the clock of the host was not set, and the codec is the same. */
const continues = (before: Current, startedAt: number, dts: number): boolean => {
  const mediaMs = ticksBetween(before.firstDts, dts) / TICKS_PER_MS
  // What was held up on its way comes later than its times say, by a clock that was not set.
  const passedMs = performance.now() - before.startedMs
  const isSteady = [mediaMs, passedMs].some((ms) => Math.abs(startedAt - before.startedAt - ms) < CLOCK_STEP_MS)
  return isSteady && startedAt > before.startedAt
}

const pictureOf = (reader: PacketReader, packets: Buffer): PictureStart | undefined => {
  let found: PictureStart | undefined
  reader.read(packets, (picture) => {
    found = picture
  })
  return found
}

const namesOf = ({ tracks }: PacketReader): readonly string[] => tracks.map(({ name }) => name)

/** Modulo 16, as continuity counters count. */
const countsOf = ({ counts }: PacketReader): Readonly<Record<string, number>> =>
  Object.fromEntries([...counts].map(([pid, count]) => [String(pid), count % 16]))
