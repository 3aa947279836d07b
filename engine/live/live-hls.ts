import { Writable } from 'node:stream'
import { ApiError } from '../../lib/errors.ts'
import { formatName } from '../codec/codecs.ts'
import { openTsFeed, type TsFeed } from '../formats/ts-feed.ts'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import type { MountedSession, MountPoint } from '../mount/mount-point.ts'
import { Reader } from '../mount/reader.ts'
import type { Sink } from '../mount/sink.ts'
import { type LiveAdmission, type LiveParts, notPlaying } from './admission.ts'
import type { LiveSegment } from './live-playlist.ts'
import { LiveSegments } from './live-segments.ts'

interface LiveHlsParts extends LiveParts {
  readonly admission: LiveAdmission
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** The present cut and its clients, by name. */
interface Cut {
  readonly point: MountPoint
  readonly segments: LiveSegments
  readonly feed: TsFeed
  readonly unsubscribe: () => void
  readonly clients: Map<string, { readonly session: MountedSession; askedMs: number }>
  /** When the pipeline stopped. */
  endedMs: number | undefined
}

/** A client without a request for this long has left; what has ended is kept as long. */
const KEPT_MS = 30_000
const CHECK_MS = 1000
/** Longest wait for the first segment, milliseconds: that of the longest segment, and what its end may take. */
const FIRST_SEGMENT_MS = 15_000
const FOLDER = 'live'

/** Live HLS of one pipeline, cut in memory while somebody asks for it. Each client is one reader of the mount. */
export class LiveHls {
  readonly #parts: LiveHlsParts
  #cut: Cut | undefined
  /** Of the last cut: its segments go with it. */
  #last: Pick<LiveSegments, 'next' | 'discontinuities'> | undefined
  #checks: NodeJS.Timeout | undefined

  constructor(parts: LiveHlsParts) {
    this.#parts = parts
  }

  /** Throws as LiveAdmission.admit, and SERVICE_UNAVAILABLE with `details.reason` no_segment while no video comes. */
  async playlist(client: string): Promise<string> {
    const { segments } = await this.#enter(client)
    await segments.untilReady(FIRST_SEGMENT_MS)
    const { id } = this.#parts.config()
    if (!segments.isReady) throw noSegment(id)
    if (segments.isEmpty) throw notPlaying(id)
    return segments.playlist(FOLDER)
  }

  /** A segment of the playlist. Throws as LiveAdmission.admit, and NOT_FOUND with `details.reason` no_segment. */
  async segment(client: string, name: string): Promise<LiveSegment> {
    const { id } = this.#parts.config()
    const found = this.#cut?.segments.find(name)
    if (found === undefined) throw segmentGone(id)
    const { point } = await this.#enter(client)
    point.counters.bytesOut += found.bytes
    return found
  }

  async #enter(client: string): Promise<Cut> {
    const known = this.#present(client)
    if (known !== undefined) return known
    const { point, release } = await this.#parts.admission.admit(NEVER)
    release()
    if (point.closed) throw notPlaying(this.#parts.config().id)
    const joined = this.#present(client)
    if (joined !== undefined) return joined
    const present = this.#cut
    const cut = present === undefined || present.endedMs !== undefined ? this.#begin(point) : present
    const session: MountedSession = {
      client,
      reader: new Reader([], NO_SINK, DEFAULT_LIMITS, point.counters),
      reportedLoss: 0,
      anyFormat: true,
      end: () => this.#end(cut),
    }
    cut.clients.set(client, { session, askedMs: performance.now() })
    point.add(session)
    return cut
  }

  /** The cut that a client is a reader of, also when it has ended and nothing plays since. */
  #present(client: string): Cut | undefined {
    const cut = this.#cut
    const entry = cut?.clients.get(client)
    if (cut === undefined || entry === undefined) return undefined
    if (cut.endedMs === undefined) entry.askedMs = performance.now()
    else if (this.#parts.point()?.ready === true) return undefined
    return cut
  }

  #begin(point: MountPoint): Cut {
    const { media, now } = this.#parts
    const cachedMs = media.video.gop?.units[0]?.mediaMs
    const segments = new LiveSegments({
      before: this.#last,
      firstStartedAt: cachedMs === undefined ? undefined : now() - Math.max(0, performance.now() - cachedMs),
      format: () => formatName(media.elementary.config),
      now,
    })
    const out = new Writable({
      write: (packets: Buffer, _encoding, done) => {
        segments.push(packets)
        done()
      },
    })
    const feed = openTsFeed(media, out, { catchUp: 'timed', klv: true, sound: true })
    const unsubscribe = media.video.onLoss(() => segments.interrupt())
    this.#cut = { point, segments, feed, unsubscribe, clients: new Map(), endedMs: undefined }
    this.#checks ??= setInterval(() => this.#check(), CHECK_MS).unref()
    return this.#cut
  }

  /** The pipeline has stopped, or its readers are disconnected. */
  #end(cut: Cut): void {
    if (cut.endedMs !== undefined) return
    cut.endedMs = performance.now()
    this.#leave(cut)
  }

  #leave({ feed, unsubscribe, segments, point, clients }: Cut): void {
    feed.close()
    unsubscribe()
    segments.end()
    this.#last = { next: segments.next, discontinuities: segments.discontinuities }
    for (const { session } of clients.values()) point.remove(session)
  }

  #check(): void {
    const cut = this.#cut
    const sinceMs = performance.now() - KEPT_MS
    if (cut?.endedMs === undefined) for (const [client, entry] of cut?.clients ?? []) if (entry.askedMs < sinceMs) this.#forget(client)
    const isOver = cut?.endedMs === undefined ? cut?.clients.size === 0 : cut.endedMs < sinceMs
    if (cut !== undefined && !isOver) return
    if (cut !== undefined && cut.endedMs === undefined) this.#leave(cut)
    this.#cut = undefined
    clearInterval(this.#checks)
    this.#checks = undefined
  }

  #forget(client: string): void {
    const { clients, point } = this.#cut ?? {}
    const entry = clients?.get(client)
    clients?.delete(client)
    if (entry !== undefined) point?.remove(entry.session)
  }
}

/** A playlist is one short call: the wait for a start has a bound of its own. */
const NEVER = new AbortController().signal

/** The media goes into the segments, once for all clients. */
const NO_SINK: Sink = {
  busy: false,
  stuckSinceMs: undefined,
  send: () => 0,
  sendReport: () => {},
  onReady: () => {},
  close: () => {},
}

const noSegment = (id: string): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', `No video of the pipeline "${id}" comes from its source now. Try again.`, { reason: 'no_segment' })

const segmentGone = (id: string): ApiError =>
  new ApiError('NOT_FOUND', `The pipeline "${id}" has no such segment now. Read live.m3u8 again.`, { reason: 'no_segment' })
