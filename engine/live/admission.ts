import { ApiError } from '../../lib/errors.ts'
import type { PipelineConfig } from '../../lib/schema/pipeline.ts'
import { CODECS } from '../codec/codecs.ts'
import type { MediaFormats } from '../formats/media-formats.ts'
import type { MountPoint } from '../mount/mount-point.ts'

export interface LiveParts {
  readonly config: () => PipelineConfig
  readonly media: MediaFormats
  /** Where readers join; undefined while the pipeline neither plays nor may be started by a reader. */
  readonly point: () => MountPoint | undefined
}

/** A place among the readers of a mount. */
export interface Admitted {
  readonly point: MountPoint
  /** Ends the reservation: the client has joined, or will not. */
  readonly release: () => void
}

/** Admits clients over HTTP to the mount of a pipeline, as readers of RTSP are. */
export class LiveAdmission {
  readonly #parts: LiveParts
  /** Clients that are admitted and have not joined yet. */
  #expected = 0

  constructor(parts: LiveParts) {
    this.#parts = parts
  }

  /**
   * Admits a client, which calls `release` when it joins. Waits for the start of a pipeline that is on demand or is being started, unless
   * it `waits` for nothing. Throws CONFLICT with `details.reason` not_playing, no_pay0 or codec, SERVICE_UNAVAILABLE reader_limit, and the
   * error of the start.
   */
  async admit(signal: AbortSignal, { waits = true } = {}): Promise<Admitted> {
    const { config, point: find, media } = this.#parts
    const { id, output } = config()
    const point = find()
    if (output === null) throw noPay0(id)
    if (point === undefined || !(waits || point.ready)) throw notPlaying(id)
    if (this.#isFull(point)) throw readerLimit(id)
    await point.untilReady(signal)
    const { caps } = media.video
    if (point.closed) throw notPlaying(id)
    if (caps === undefined) throw point.options.startTimeout?.() ?? notPlaying(id)
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
}

const noPay0 = (id: string): ApiError =>
  new ApiError('CONFLICT', `The description of the pipeline "${id}" has no element named pay0. Name its payloader pay0 to get its video.`, {
    reason: 'no_pay0',
  })

export const notPlaying = (id: string): ApiError =>
  new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })

const wrongCodec = (id: string, codec: string): ApiError =>
  new ApiError('CONFLICT', `The video of the pipeline "${id}" is ${codec}. Re-encode it to H.264 or H.265, or read it over RTSP.`, {
    reason: 'codec',
  })

const readerLimit = (id: string): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', `The pipeline "${id}" has as many readers as readers.max_per_pipeline allows. Try again later.`, {
    reason: 'reader_limit',
  })
