import { frameRateHint } from '../mount/frame-rate-hint.ts'
import type { ServedSound } from '../mount/served-sound.ts'
import type { KlvCarriage } from '../mpegts/sections.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { ElementaryStream } from './elementary-stream.ts'
import { FlvFormat, type FrameTags } from './flv-format.ts'
import type { Format, FormatSource } from './format.ts'
import { PictureOrder } from './picture-order.ts'
import { TsFormat } from './ts-format.ts'

interface FormatInput {
  readonly video: RtpStream
  /** The KLV that is passed on; undefined when none is. */
  readonly klv: () => RtpStream | undefined
  /** The KLV of the source, whether or not it is passed on. */
  readonly klvOfSource: RtpStream
  readonly sound: ServedSound
  /** The stream of the sound; undefined when none is passed on. */
  readonly soundStream: () => RtpStream | undefined
  /** How the KLV of the source is carried; false: it has none. The caps of its stream say only that it may have. */
  readonly klvCarriage: () => KlvCarriage | false
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

  /** How many pictures came after one that is shown later, at most; undefined while that is not known. */
  get reordered(): number | undefined {
    return this.#order.reordered
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

  get sound(): ServedSound {
    return this.#media.sound
  }

  /** The stream of the sound, also before there is any; undefined when none is passed on. */
  get soundStream(): RtpStream | undefined {
    return this.#media.soundStream()
  }

  /** The KLV that is passed on now; undefined when none is. */
  get klv(): RtpStream | undefined {
    return this.#media.klv()
  }

  /** The KLV of the source, for those who ask for it. */
  get klvOfSource(): RtpStream {
    return this.#media.klvOfSource
  }

  /** The format for one more user, which calls `leave` in the end. */
  enter(key: string, create: () => Format): Format {
    const known = this.#formats.get(key) ?? { format: create(), users: 0 }
    known.users += 1
    this.#formats.set(key, known)
    return known.format
  }

  /** MPEG-TS with the video, this KLV and this sound. Its parameter sets state the frame rate that is known now. */
  enterTs({ klv, sound }: { readonly klv: RtpStream | undefined; readonly sound: RtpStream | undefined }): Format {
    const { video } = this
    const frameRate = frameRateHint(video).rate()
    const key = `ts ${frameRate?.numerator}/${frameRate?.denominator} ${klv === undefined ? 'video' : 'klv'} ${sound === undefined ? '' : 'sound'}`
    return this.enter(key, () => new TsFormat(this, { video, klv, sound, klvCarriage: this.#media.klvCarriage, frameRate }))
  }

  /** FLV, each piece of it framed as `frame` does. */
  enterFlv(frame: FrameTags): Format {
    return this.enter('flv', () => new FlvFormat(this, this.video, frame))
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
