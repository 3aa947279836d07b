import { frameRateHint } from '../mount/frame-rate-hint.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { ElementaryStream } from './elementary-stream.ts'
import type { Format, FormatSource } from './format.ts'
import { PictureOrder } from './picture-order.ts'
import { TsFormat } from './ts-format.ts'

interface FormatInput {
  readonly video: RtpStream
  /** The KLV that is passed on; undefined when none is. */
  readonly klv: () => RtpStream | undefined
  /** Whether the source has KLV. The caps of its stream say only that it may have. */
  readonly hasKlv: () => boolean
}

/** The media of one pipeline as bytes. A format exists while it has users, and converts each access unit once for all of them. */
export class MediaFormats implements FormatSource {
  readonly video: RtpStream
  readonly #media: FormatInput
  readonly #order: PictureOrder
  #elementary: ElementaryStream | undefined
  readonly #formats = new Map<string, { readonly format: Format; users: number }>()
  #losses = 0
  #firstUnitAfterLoss = 0

  constructor(media: FormatInput) {
    const { video } = media
    this.video = video
    this.#media = media
    this.#order = new PictureOrder(video)
    video.onLoss(() => {
      this.#losses += 1
      this.#firstUnitAfterLoss = video.stats.units
    })
  }

  get elementary(): ElementaryStream {
    this.#elementary ??= new ElementaryStream(this.video, this.#order)
    return this.#elementary
  }

  get losses(): number {
    return this.#losses
  }

  get firstUnitAfterLoss(): number {
    return this.#firstUnitAfterLoss
  }

  get live(): boolean {
    return this.video.live
  }

  /** The KLV that is passed on now; undefined when none is. */
  get klv(): RtpStream | undefined {
    return this.#media.klv()
  }

  /** The format for one more user, which calls `leave` in the end. */
  enter(key: string, create: () => Format): Format {
    const known = this.#formats.get(key) ?? { format: create(), users: 0 }
    known.users += 1
    this.#formats.set(key, known)
    return known.format
  }

  /** MPEG-TS with the video and this KLV. Its parameter sets state the frame rate that is known now. */
  enterTs(klv: RtpStream | undefined): Format {
    const { video } = this
    const frameRate = frameRateHint(video).rate()
    const key = `ts ${frameRate?.numerator}/${frameRate?.denominator} ${klv === undefined ? 'video' : 'klv'}`
    return this.enter(key, () => new TsFormat(this, { video, klv, hasKlv: this.#media.hasKlv, frameRate }))
  }

  leave(format: Format): void {
    for (const [key, known] of this.#formats) {
      if (known.format !== format) continue
      known.users -= 1
      if (known.users > 0) return
      format.close()
      this.#formats.delete(key)
    }
    if (this.#formats.size > 0) return
    this.#elementary?.close()
    this.#elementary = undefined
  }
}
