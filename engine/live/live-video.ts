import type { Writable } from 'node:stream'
import { ApiError } from '../../lib/errors.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { CODECS } from '../codec/codecs.ts'
import type { MediaFormats } from '../formats/media-formats.ts'
import { DEFAULT_LIMITS } from '../mount/limits.ts'
import type { MountedSession, MountPoint } from '../mount/mount-point.ts'
import { Reader } from '../mount/reader.ts'
import { RecordFormat } from './record-format.ts'

interface LiveParts {
  readonly config: () => PipelineConfig
  readonly media: MediaFormats
  /** Where readers join; undefined while the pipeline neither plays nor may be started by a reader. */
  readonly point: () => MountPoint | undefined
}

/** Sends a stream of bytes until either side ends it. */
export type ByteSource = (out: Writable) => void

/** How often clients are checked, milliseconds. */
const CHECK_MS = 1000
/** How long a disconnected client may take to read what is buffered, milliseconds. */
const END_MS = 500

type FormatName = 'video' | 'ts'

/**
 * The live video of one pipeline over HTTP. Its clients are readers of the output's mount like those of RTSP: the same limits,
 * start on demand, and treatment of slow readers.
 */
export class LiveVideo {
  readonly #parts: LiveParts
  /** Checks each client, every CHECK_MS. */
  readonly #checks = new Set<(nowMs: number) => void>()
  #timer: NodeJS.Timeout | undefined
  /** Clients that are admitted and have not joined yet. */
  #expected = 0

  constructor(parts: LiveParts) {
    this.#parts = parts
  }

  /**
   * Admits a client. Waits for the start of a pipeline that is on demand or is being started. Throws CONFLICT with
   * `details.reason` not_playing, no_pay0 or codec, SERVICE_UNAVAILABLE reader_limit, and the error of the start. `catchUp`: with the cached
   * GOP, else with the next key frame.
   */
  async open(format: FormatName, signal: AbortSignal, { catchUp } = { catchUp: true }): Promise<ByteSource> {
    const { point, release } = await this.#admit(signal)
    return (out) => {
      release()
      this.#join(point, format, out, catchUp)
    }
  }

  async #admit(signal: AbortSignal): Promise<{ readonly point: MountPoint; readonly release: () => void }> {
    const { config, point: find, media } = this.#parts
    const { id, output } = config()
    const point = find()
    if (output === null) throw noPay0(id)
    if (point === undefined) throw notPlaying(id)
    if (this.#isFull(point)) throw readerLimit(id)
    await point.untilReady(signal)
    const { caps } = media.video
    if (point.closed || caps === undefined) throw notPlaying(id)
    if (!CODECS.has(caps.encodingName)) throw wrongCodec(id, caps.encodingName)
    if (this.#isFull(point)) throw readerLimit(id)
    return { point, release: this.#reserve(signal) }
  }

  #isFull({ readers, options }: MountPoint): boolean {
    return readers + this.#expected >= options.maxReaders()
  }

  /** Reserves a place for a client until it joins or disconnects: clients that wait for the same start are admitted at once. */
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

  /** `catchUp`: the cached GOP goes first; else the stream begins with the next key frame. */
  #join(point: MountPoint, name: FormatName, out: Writable, catchUp: boolean): void {
    if (point.closed) {
      out.end()
      return
    }
    const { media } = this.#parts
    const klv = name === 'ts' ? media.klv : undefined
    const format = name === 'ts' ? media.enterTs(klv) : media.enter(name, () => new RecordFormat(media))
    const sink = format.createSink(out)
    const reader = new Reader([media.video, klv], sink, DEFAULT_LIMITS, point.counters)
    const session: MountedSession = { client: 'http', reader, reportedLoss: 0, anyFormat: true, end: () => end(out) }
    const stopChecks = this.#check((nowMs) => {
      if (sink.stuckSinceMs !== undefined && nowMs - sink.stuckSinceMs > DEFAULT_LIMITS.stalledMs) out.destroy()
      else sink.check(reader.drained)
    })
    const unsubscribe = media.video.onLoss(() => sink.check(reader.drained))
    out.on('close', () => {
      reader.pause()
      sink.close()
      point.remove(session)
      unsubscribe()
      stopChecks()
      media.leave(format)
    })
    if (catchUp) {
      sink.begin()
      reader.prepare(performance.now())
    }
    point.add(session)
    reader.start()
  }

  /** Calls back at an interval; returns the function that ends it. */
  #check(check: (nowMs: number) => void): () => void {
    this.#checks.add(check)
    this.#timer ??= setInterval(() => {
      const nowMs = performance.now()
      for (const each of this.#checks) each(nowMs)
    }, CHECK_MS)
    return () => {
      this.#checks.delete(check)
      if (this.#checks.size > 0) return
      clearInterval(this.#timer)
      this.#timer = undefined
    }
  }
}

/** Sends what is buffered first. */
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
