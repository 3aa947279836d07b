import { ApiError } from '../../../lib/errors.ts'
import type { AccessUnit } from '../../rtp/access-unit.ts'
import type { Gop } from '../../rtp/gop-cache.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { type DecodedJpeg, decodeToJpeg } from './decode-to-jpeg.ts'
import type { JpegFormat } from './decoder-line.ts'
import { DecodeSlots } from './slots.ts'

export interface Screenshot extends DecodedJpeg {
  /** Arrival of the frame that it shows, monotonic milliseconds. */
  readonly frameMs: number
}

export interface DecodeRequest extends JpegFormat {
  /** A GOP of which to decode only the key frame; else the newest frame when decoding begins. */
  readonly keyFrameOf?: Gop
  readonly signal?: AbortSignal
}

/** Requests of one pipeline that may wait. */
const MAX_WAITING = 8

/** Decodes screenshots of one stream from its cached GOP, one at a time. */
export class ScreenshotDecoder {
  readonly #stream: RtpStream
  readonly #hostSlots: DecodeSlots
  readonly #ownSlots = new DecodeSlots({ running: 1, waiting: MAX_WAITING })

  /** `hostSlots` are shared by all pipelines. */
  constructor(stream: RtpStream, hostSlots: DecodeSlots) {
    this.#stream = stream
    this.#hostSlots = hostSlots
  }

  /** CONFLICT before the first key frame of the present run, SERVICE_UNAVAILABLE when too many requests wait, ENGINE_ERROR when decoding fails. */
  decode(request: DecodeRequest): Promise<Screenshot> {
    return this.#ownSlots.run(() => this.#hostSlots.run(() => this.#decode(request)))
  }

  async #decode({ keyFrameOf, quality, width, signal }: DecodeRequest): Promise<Screenshot> {
    const { caps } = this.#stream
    const gop = keyFrameOf ?? this.#stream.gop
    if (gop === undefined || caps === undefined || signal?.aborted) throw noFrame()
    const keyFrameOnly = keyFrameOf !== undefined
    const single = keyFrameOnly || gop.units.length === 1
    const media = gop.rfc4571({ keyFrameOnly })
    const decoded = await decodeToJpeg({ caps, media, single, quality, width, ...(signal && { signal }) })
    return { ...decoded, frameMs: keyFrameOnly ? gop.keyArrivedMs : (lastShown(gop.units)?.arrivedMs ?? gop.newestArrivedMs) }
  }
}

/** The unit with the highest presentation time. With B-frames it is not the one that arrived last. */
const lastShown = (units: readonly AccessUnit[]): AccessUnit | undefined => {
  let last = units[0]
  for (const unit of units) if (last === undefined || unit.mediaMs >= last.mediaMs) last = unit
  return last
}

const noFrame = (): ApiError =>
  new ApiError('CONFLICT', 'The source sends no video right now. Try again when it is back.', { reason: 'no_frame' })
