import { ApiError } from '../../lib/errors.ts'
import { sameFormat } from '../rtp/caps.ts'
import { formatGoodbye, formatSenderReport } from '../rtp/packet/rtcp.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { PublisherLimits } from './limits.ts'
import type { Reader, ReaderCounters } from './reader.ts'

export interface MountOptions {
  /** By number of the track: 0 the video, 1 the KLV, 2 the sound; undefined: not passed on. Those whose caps are not known are left out of the description. */
  readonly streams: readonly (RtpStream | undefined)[]
  /** A reader beyond this number gets 453. */
  readonly maxReaders: () => number
  /** How long a DESCRIBE waits until stream 0 has caps and a key frame, milliseconds. */
  readonly describeTimeoutMs: () => number
  /** Called when a DESCRIBE arrives while stream 0 has no key frame. Returns the start to wait for, if there is one; it rejects with ApiError. */
  readonly onDescribe?: () => Promise<unknown> | undefined
  /** The error of a start without media until now, with its cause; undefined when nothing is being started. */
  readonly startTimeout?: () => ApiError | undefined
  /** Called with the number of sessions that play or pause, whenever it changes. */
  readonly onReaders?: (count: number) => void
}

export interface MountStats {
  readonly bytesOut: number
  /** How often a slow reader lost its queue. */
  readonly gopDrops: number
  /** Highest packet loss of the newest reports of UDP readers, 0 to 1. */
  readonly worstLoss: number
}

/** A session as a mount needs it. */
export interface MountedSession {
  /** The reader's address, as `clientOf` of lib/access/rate-limit.ts groups them. */
  readonly client: string
  readonly reader: Reader
  /** Packet loss of the reader's newest report, 0 to 1. */
  readonly reportedLoss: number
  /** Can continue when the codec changes. */
  readonly anyFormat?: boolean
  end(): void
}

/** The caps of a further track come with its first packet: a moment after the video, or never; later where the host is busy and it is sure to come. */
const [FURTHER_TRACKS_MS, SURE_TRACKS_MS] = [1000, 3000]

interface Patience {
  readonly ms: number
  readonly signal: AbortSignal
  readonly start?: Promise<unknown> | undefined
}

interface MountTrack {
  /** Its number. */
  readonly at: number
  readonly stream: RtpStream
}

/** One path: its streams and their readers. */
export class MountPoint {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly options: MountOptions
  /** The streams that are passed on. */
  readonly tracks: readonly MountTrack[]
  readonly counters: ReaderCounters = { bytesOut: 0, gopDrops: 0 }
  readonly #cname: string
  readonly #wallMs: (monotonicMs: number) => number
  readonly #sessions = new Set<MountedSession>()
  readonly #waiting = new Set<() => void>()
  readonly #unsubscribe: readonly (() => void)[]
  readonly #reportMs: number
  /** Runs while there are readers. */
  #reports: NodeJS.Timeout | undefined
  #closed = false

  constructor(
    address: { readonly host: string; readonly port: number; readonly path: string },
    options: MountOptions,
    context: { readonly cname: string; readonly wallMs: (monotonicMs: number) => number; readonly reportMs: number },
  ) {
    this.host = address.host
    this.port = address.port
    this.path = address.path
    this.options = options
    this.#cname = context.cname
    this.#wallMs = context.wallMs
    this.tracks = options.streams.flatMap((stream, at) => (stream === undefined ? [] : [{ at, stream }]))
    this.#unsubscribe = this.tracks.flatMap(({ at, stream }) => [
      stream.onUnit((unit) => {
        for (const session of this.#sessions) session.reader.offer(at, unit)
      }),
      stream.onCaps((caps, previous) => {
        // The readers' session description is for another codec.
        if (previous && !sameFormat(caps, previous)) this.#disconnect((session) => session.anyFormat !== true)
      }),
    ])
    this.#reportMs = context.reportMs
  }

  get readers(): number {
    return this.#sessions.size
  }

  get closed(): boolean {
    return this.#closed
  }

  get stats(): MountStats {
    const worstLoss = [...this.#sessions].reduce((worst, session) => Math.max(worst, session.reportedLoss), 0)
    return { ...this.counters, worstLoss }
  }

  /** Whether a further reader is one too many for the mount. */
  get isFull(): boolean {
    return this.#sessions.size >= this.options.maxReaders()
  }

  /** Whether a further reader of an address is one too many: for the mount, or for the address (see PublisherLimits). */
  isFullFor(client: string, limits: Pick<PublisherLimits, 'shareOfReaders' | 'readersPerAddress'>): boolean {
    const most = this.options.maxReaders()
    if (this.isFull) return true
    const mostOfClient = Math.max(limits.readersPerAddress, Math.floor(most * limits.shareOfReaders))
    if (this.#sessions.size < mostOfClient) return false
    let ofClient = 0
    for (const session of this.#sessions) if (session.client === client) ofClient += 1
    return ofClient >= mostOfClient
  }

  /** Stream 0 has caps and a key frame. */
  get ready(): boolean {
    const [video] = this.options.streams
    return video?.caps !== undefined && video.live
  }

  /**
   * Resolves when the mount can be described or is closed, on timeout or abort; at once when its source is away and the description
   * is known. Rejects with ApiError when the start that the reader waits for fails or takes too long.
   */
  async untilReady(signal: AbortSignal): Promise<void> {
    const [video] = this.options.streams
    if (!video) return
    if (!this.ready) {
      const start = this.options.onDescribe?.()
      if (start === undefined && video.caps !== undefined) return
      await this.#wait(() => this.ready, { ms: this.options.describeTimeoutMs(), signal, start })
    }
    for (const [awaited, ms] of [
      ['maybe', FURTHER_TRACKS_MS],
      ['surely', SURE_TRACKS_MS],
    ] as const) {
      const left = ms - (performance.now() - video.liveSinceMs)
      if (left > 0) await this.#wait(() => !this.tracks.some(({ stream }) => stream.awaitsCaps === awaited), { ms: left, signal })
    }
  }

  add(session: MountedSession): void {
    this.#sessions.add(session)
    this.#reports ??= setInterval(() => this.#report(), this.#reportMs).unref()
    this.options.onReaders?.(this.#sessions.size)
  }

  remove(session: MountedSession): void {
    if (this.#sessions.delete(session)) this.options.onReaders?.(this.#sessions.size)
  }

  disconnectReaders(): void {
    this.#disconnect(() => true)
  }

  /** Disconnects the readers and ends pending DESCRIBEs. */
  close(): void {
    this.#closed = true
    this.#endReports()
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    for (const end of this.#waiting) end()
    this.disconnectReaders()
  }

  /**
   * The present sender report of a stream, undefined before its first unit. Reports continue while the source is away,
   * so that players over UDP keep waiting.
   */
  senderReport(stream: RtpStream): Buffer | undefined {
    const nowMs = performance.now()
    const { packets, bytes, units } = stream.stats
    if (units === 0) return undefined
    const report = { ssrc: stream.ssrc, wallMs: this.#wallMs(nowMs), timestamp: stream.timestampNow(nowMs), packets, bytes }
    return formatSenderReport(report, this.#cname)
  }

  reportTo(reader: Reader): void {
    for (const { at, stream } of this.tracks) {
      const report = this.senderReport(stream)
      if (report) reader.report(at, report)
    }
  }

  goodbyeTo(reader: Reader): void {
    for (const { at, stream } of this.tracks) {
      const report = this.senderReport(stream)
      // BYE alone is not a valid compound packet (RFC 3550 section 6.1).
      if (report) reader.report(at, Buffer.concat([report, formatGoodbye(stream.ssrc)]))
    }
  }

  /** Until the condition holds, or the mount is closed. */
  async #wait(holds: () => boolean, { ms, signal, start }: Patience): Promise<void> {
    if (holds() || this.#closed || signal.aborted) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    start?.catch(reject)
    const timer = setTimeout(() => (start === undefined ? resolve() : reject(this.options.startTimeout?.() ?? startTimeout())), ms)
    const look = (): void => {
      if (holds()) resolve()
    }
    const unsubscribe = this.tracks.flatMap(({ stream }) => [stream.onUnit(look), stream.onCaps(look)])
    const aborted = () => resolve()
    signal.addEventListener('abort', aborted, { once: true })
    this.#waiting.add(resolve)
    try {
      await promise
    } finally {
      clearTimeout(timer)
      for (const end of unsubscribe) end()
      signal.removeEventListener('abort', aborted)
      this.#waiting.delete(resolve)
    }
  }

  #endReports(): void {
    clearInterval(this.#reports)
    this.#reports = undefined
  }

  #disconnect(concerns: (session: MountedSession) => boolean): void {
    for (const session of [...this.#sessions].filter(concerns)) session.end()
  }

  #report(): void {
    if (this.#sessions.size === 0) this.#endReports()
    for (const { at, stream } of this.tracks) {
      const report = this.senderReport(stream)
      if (report) for (const session of this.#sessions) session.reader.report(at, report)
    }
  }
}

const startTimeout = (): ApiError => new ApiError('PIPELINE_START_TIMEOUT', 'The pipeline did not start in time. Try again.')
