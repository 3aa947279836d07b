import { ApiError } from '../../../lib/errors.ts'
import type { Slots } from '../../../lib/slots.ts'
import type { AccessUnit } from '../../rtp/access-unit.ts'
import type { Gop } from '../../rtp/gop-cache.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { type DecodedJpeg, decodeToJpeg } from './decode-to-jpeg.ts'
import { DecoderKeeper, type KeptMemory } from './decoder-keeper.ts'
import { type JpegFormat, toDecoder } from './decoder-line.ts'
import { createDecodeSlots } from './slots.ts'

export interface Screenshot extends DecodedJpeg {
  /** Arrival of the frame that it shows, monotonic milliseconds. */
  readonly frameMs: number
  /** Time of that frame on the timeline of the stream, monotonic milliseconds. */
  readonly mediaMs: number
}

export interface DecodeRequest extends JpegFormat {
  /** A GOP of which to decode only the key frame; else the newest frame when decoding begins. */
  readonly keyFrameOf?: Gop
  /** When the next key frame is to be decoded to the same format, milliseconds: the process may stay for it. */
  readonly nextWithinMs?: number
  readonly signal?: AbortSignal
}

/** Requests of one pipeline that may wait. */
const MAX_WAITING = 8

/** Shared by the decoders of all pipelines. */
export interface DecoderHost {
  readonly slots: Slots
  readonly memory: KeptMemory
}

/** Decodes screenshots of one stream from its cached GOP, one at a time. */
export class ScreenshotDecoder {
  readonly #stream: RtpStream
  readonly #host: DecoderHost
  readonly #keeper: DecoderKeeper
  readonly #ownSlots = createDecodeSlots({ running: 1, waiting: MAX_WAITING })

  constructor(stream: RtpStream, host: DecoderHost) {
    this.#stream = stream
    this.#host = host
    this.#keeper = new DecoderKeeper(host.memory)
  }

  /** CONFLICT before the first key frame of the present run, SERVICE_UNAVAILABLE when too many requests wait, ENGINE_ERROR when decoding fails. */
  decode(request: DecodeRequest): Promise<Screenshot> {
    return this.#ownSlots.run(() => this.#host.slots.run(() => this.#decode(request)))
  }

  /** Ends the process that stays for the next key frame. */
  release(): void {
    this.#keeper.close()
  }

  async #decode({ keyFrameOf, nextWithinMs, quality, width, signal }: DecodeRequest): Promise<Screenshot> {
    const { caps } = this.#stream
    const gop = keyFrameOf ?? this.#stream.gop
    if (gop === undefined || caps === undefined || signal?.aborted) throw noFrame()
    const units = keyFrameOf === undefined ? gop.units : gop.units.slice(0, 1)
    const shown = lastShown(units)
    if (shown === undefined) throw noFrame()
    const format = { caps, single: units.length === 1, quality, width }
    const [keyFrame] = units
    const kept =
      keyFrame !== undefined && keyFrameOf !== undefined && nextWithinMs !== undefined
        ? await this.#keeper.decode({ decoder: toDecoder({ ...format, generic: false, kept: true }), keyFrame, nextWithinMs, signal })
        : undefined
    if (signal?.aborted) throw noFrame()
    const decoded = kept ?? (await decodeToJpeg({ ...format, units, ...(signal && { signal }) }))
    return { ...decoded, frameMs: shown.arrivedMs, mediaMs: shown.mediaMs }
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
