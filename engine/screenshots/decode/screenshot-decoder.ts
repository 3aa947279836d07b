import { ApiError } from '../../../lib/errors.ts'
import type { AccessUnit } from '../../rtp/access-unit.ts'
import type { Gop } from '../../rtp/gop-cache.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { type DecodedPicture, decodeToJpeg } from './decode-to-jpeg.ts'
import type { JpegFormat } from './decoder-line.ts'
import { DecodeSlots } from './slots.ts'

export interface Picture extends DecodedPicture {
  /** When the frame that it shows came from the source, monotonic milliseconds. */
  readonly frameMs: number
}

export interface DecodeRequest extends JpegFormat {
  /** A GOP whose key frame alone is wanted; else the newest frame at the moment of the decoding. */
  readonly keyFrameOf?: Gop
  readonly signal?: AbortSignal
}

/** Pictures of one pipeline that wait. */
const MAX_WAITING = 8

/** Makes the pictures of one stream from its cached GOP, one at a time. */
export class ScreenshotDecoder {
  readonly #stream: RtpStream
  readonly #all: DecodeSlots
  readonly #own = new DecodeSlots({ running: 1, waiting: MAX_WAITING })

  constructor(stream: RtpStream, all: DecodeSlots) {
    this.#stream = stream
    this.#all = all
  }

  /** CONFLICT when no key frame of the present run has come, SERVICE_UNAVAILABLE when too many wait, ENGINE_ERROR when it cannot be decoded. */
  make(order: DecodeRequest): Promise<Picture> {
    return this.#own.run(() => this.#all.run(() => this.#make(order)))
  }

  async #make({ keyFrameOf, quality, width, signal }: DecodeRequest): Promise<Picture> {
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

/** With B-frames the unit that came last is not the one that is shown last. */
const lastShown = (units: readonly AccessUnit[]): AccessUnit | undefined => {
  let last = units[0]
  for (const unit of units) if (last === undefined || unit.mediaMs >= last.mediaMs) last = unit
  return last
}

const noFrame = (): ApiError =>
  new ApiError('CONFLICT', 'The source sends no pictures right now. Try again when it is back.', { reason: 'no_frame' })
