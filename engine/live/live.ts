import type { Writable } from 'node:stream'
import { ApiError } from '../../lib/errors.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { CODECS } from '../codec/codecs.ts'
import { frameRateHint } from '../mount/frame-rate-hint.ts'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import type { MountedSession, MountPoint } from '../mount/mount.ts'
import { Reader, type ReaderCounters } from '../mount/reader.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { ElementaryStream } from './elementary-stream.ts'
import type { Format, SharedSource } from './format.ts'
import { PictureOrder } from './picture-order.ts'
import { TsFormat } from './ts-format.ts'
import { RecordFormat } from './video-sink.ts'

interface LiveParts {
  readonly config: () => PipelineConfig
  readonly video: RtpStream
  readonly klv: RtpStream
  /** Whether the source has KLV. The caps of its stream tell only that it may have. */
  readonly hasKlv: () => boolean
  /** Where readers join; undefined while the pipeline neither plays nor may be started by a reader. */
  readonly point: () => MountPoint | undefined
}

/** Sends a stream of bytes until either side ends it. */
export type ByteSource = (out: Writable) => void

/** How often clients are checked, milliseconds. */
const CHECK_MS = 1000
/** How long a client that is disconnected may take to read what is left, milliseconds. */
const END_MS = 500

type FormatName = 'video' | 'ts'

/** The MPEG-TS of a pipeline on its way to one receiver. */
export interface Feed {
  /** Monotonic milliseconds since when the receiver has accepted nothing; undefined when nothing waits. */
  readonly stuckSinceMs: number | undefined
  /** Bytes handed over so far. */
  readonly bytes: number
  close(): void
}

/** What a push asks of the pipeline. */
interface FeedOptions {
  /** Whether the cached GOP goes first, at once; else the feed begins with the next key picture. */
  readonly catchUp: boolean
  /** Whether the KLV may go along, if it is passed on. */
  readonly klv: boolean
}

interface Client {
  readonly format: Format
  readonly check: (nowMs: number) => void
}

/**
 * The live video of one pipeline over HTTP. Its clients are readers of the output's mount, beside those of RTSP: the same
 * places, the same start on demand, the same bounds for a slow one, the same end.
 */
export class LiveVideo {
  readonly #parts: LiveParts
  readonly #order: PictureOrder
  readonly #clients = new Set<Client>()
  readonly #onLoss = new Set<() => void>()
  /** While somebody reads. */
  #elementary: ElementaryStream | undefined
  /** By name, and by what of it differs from client to client. */
  readonly #formats = new Map<string, Format>()
  #losses = 0
  #firstUnitAfterLoss = 0
  #timer: NodeJS.Timeout | undefined
  /** Clients that are admitted and have not joined yet. */
  #expected = 0

  constructor(parts: LiveParts) {
    const { video } = parts
    this.#parts = parts
    this.#order = new PictureOrder(video)
    video.onLoss(() => {
      this.#losses += 1
      this.#firstUnitAfterLoss = video.stats.units
      for (const tell of this.#onLoss) tell()
    })
  }

  /**
   * Admits a client. Waits for the start of a pipeline that is on demand or is being started. Throws CONFLICT with
   * `details.reason` not_playing, no_pay0 or codec, SERVICE_UNAVAILABLE reader_limit, and what the start fails with.
   */
  async open(format: FormatName, signal: AbortSignal): Promise<ByteSource> {
    const { point, release } = await this.#admit(signal)
    return (out) => {
      release()
      this.#join(point, format, out)
    }
  }

  async #admit(signal: AbortSignal): Promise<{ readonly point: MountPoint; readonly release: () => void }> {
    const { config, point: find, video } = this.#parts
    const { id, output } = config()
    const point = find()
    if (output === null) throw noPay0(id)
    if (point === undefined) throw notPlaying(id)
    if (this.#isFull(point)) throw readerLimit(id)
    await point.untilReady(signal)
    const { caps } = video
    if (point.closed || caps === undefined) throw notPlaying(id)
    if (!CODECS.has(caps.encodingName)) throw wrongCodec(id, caps.encodingName)
    if (this.#isFull(point)) throw readerLimit(id)
    return { point, release: this.#reserve(signal) }
  }

  #isFull({ readers, options }: MountPoint): boolean {
    return readers + this.#expected >= options.maxReaders()
  }

  /** Takes a place for a client until it joins or has gone: all who wait for the same start are admitted at once. */
  #reserve(signal: AbortSignal): () => void {
    this.#expected += 1
    let held = true
    const release = (): void => {
      if (held) this.#expected -= 1
      held = false
      signal.removeEventListener('abort', release)
    }
    signal.addEventListener('abort', release)
    if (signal.aborted) release()
    return release
  }

  /**
   * Feeds a receiver that is no reader: it takes no place, starts nothing and keeps nothing playing, and goes on over losses of
   * the source. A slow one loses whole GOPs.
   */
  feed(out: Writable, { catchUp, klv: mayHaveKlv }: FeedOptions): Feed {
    const { video } = this.#parts
    const klv = mayHaveKlv ? this.#klv : undefined
    const format = this.#format('ts', klv)
    const sink = format.createSink(out)
    const counters: ReaderCounters = { bytesOut: 0, gopDrops: 0 }
    const reader = new Reader([video, klv], sink, DEFAULT_LIMITS, counters)
    const client: Client = { format, check: () => {} }
    this.#enter(client)
    if (catchUp) {
      sink.begin()
      reader.prepare(performance.now())
    }
    reader.start()
    const unsubscribe = [video.onUnit((unit) => reader.offer(0, unit)), klv?.onUnit((unit) => reader.offer(1, unit))]
    return {
      get stuckSinceMs() {
        return sink.stuckSinceMs
      },
      get bytes() {
        return counters.bytesOut
      },
      close: () => {
        for (const stop of unsubscribe) stop?.()
        reader.pause()
        sink.close()
        this.#leave(client)
      },
    }
  }

  #join(point: MountPoint, name: FormatName, out: Writable): void {
    if (point.closed) {
      out.end()
      return
    }
    const { video } = this.#parts
    const klv = name === 'ts' ? this.#klv : undefined
    const format = this.#format(name, klv)
    const sink = format.createSink(out)
    const reader = new Reader([video, klv], sink, DEFAULT_LIMITS, point.counters)
    const session: MountedSession = { client: 'http', reader, reportedLoss: 0, anyFormat: true, end: () => end(out) }
    const onLoss = (): void => sink.check(reader.drained)
    const client: Client = {
      format,
      check: (nowMs) => {
        if (sink.stuckSinceMs !== undefined && nowMs - sink.stuckSinceMs > DEFAULT_LIMITS.stalledMs) out.destroy()
        else sink.check(reader.drained)
      },
    }
    out.on('close', () => {
      reader.pause()
      sink.close()
      point.remove(session)
      this.#onLoss.delete(onLoss)
      this.#leave(client)
    })
    this.#enter(client)
    this.#onLoss.add(onLoss)
    sink.begin()
    reader.prepare(performance.now())
    point.add(session)
    reader.start()
  }

  /** The KLV stream, when it is to be passed on. */
  get #klv(): RtpStream | undefined {
    return this.#parts.config().klv_config.pass_klv ? this.#parts.klv : undefined
  }

  #format(name: FormatName, klv: RtpStream | undefined): Format {
    const { video } = this.#parts
    const frameRate = name === 'ts' ? frameRateHint(video).rate() : undefined
    const key = `${name} ${frameRate?.numerator}/${frameRate?.denominator} ${klv === undefined ? 'video' : 'klv'}`
    const known = this.#formats.get(key)
    if (known !== undefined) return known
    this.#elementary ??= new ElementaryStream(video, this.#order)
    const shared = this.#shared(this.#elementary)
    const format = name === 'ts' ? new TsFormat(shared, { video, klv, hasKlv: this.#parts.hasKlv, frameRate }) : new RecordFormat(shared)
    this.#formats.set(key, format)
    return format
  }

  #shared(elementary: ElementaryStream): SharedSource {
    const losses = (): number => this.#losses
    const firstUnitAfterLoss = (): number => this.#firstUnitAfterLoss
    const { video } = this.#parts
    return {
      elementary,
      get losses() {
        return losses()
      },
      get firstUnitAfterLoss() {
        return firstUnitAfterLoss()
      },
      get live() {
        return video.live
      },
    }
  }

  #enter(client: Client): void {
    this.#clients.add(client)
    this.#timer ??= setInterval(() => {
      const nowMs = performance.now()
      for (const { check } of this.#clients) check(nowMs)
    }, CHECK_MS)
  }

  #leave(client: Client): void {
    this.#clients.delete(client)
    const { format } = client
    if (![...this.#clients].some((other) => other.format === format)) {
      format.close()
      for (const [key, other] of this.#formats) if (other === format) this.#formats.delete(key)
    }
    if (this.#clients.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#elementary?.close()
    this.#elementary = undefined
  }
}

/** What is still buffered may be sent first. */
const end = (out: Writable): void => {
  out.end()
  setTimeout(() => out.destroy(), END_MS).unref()
}

const noPay0 = (id: string): ApiError =>
  new ApiError('CONFLICT', `The description of the pipeline "${id}" has no element named pay0. Name its payloader pay0 to get its video.`, {
    reason: 'no_pay0',
  })

const notPlaying = (id: string): ApiError =>
  new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })

const wrongCodec = (id: string, codec: string): ApiError =>
  new ApiError('CONFLICT', `The video of the pipeline "${id}" is ${codec}. Re-encode it to H.264 or H.265, or read it over RTSP.`, {
    reason: 'codec',
  })

const readerLimit = (id: string): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', `The pipeline "${id}" has as many readers as readers.max_per_pipeline allows. Try again later.`, {
    reason: 'reader_limit',
  })
