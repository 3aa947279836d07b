import type { Writable } from 'node:stream'
import type { Sound } from '../codec/audio/sound-codecs.ts'
import { DecodeClock } from '../mpegts/decode-clock.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { ByteSink } from './byte-sink.ts'
import type { CodedPicture } from './elementary-stream.ts'
import { avcConfiguration, avcConfigurationTag, flvSoundOf, metadataTag, pictureTag } from './flv-tags.ts'
import type { Format, FormatSource } from './format.ts'

/** Puts tags into one piece of bytes, as the process reads them. */
export type FrameTags = (tags: readonly Buffer[]) => Buffer

/** FLV of one pipeline, H.264 with AAC or MP3; each receiver has times of its own, which begin at 0. */
export class FlvFormat implements Format {
  readonly #source: FormatSource
  readonly #video: RtpStream
  readonly #frame: FrameTags

  constructor(source: FormatSource, video: RtpStream, frame: FrameTags) {
    this.#source = source
    this.#video = video
    this.#frame = frame
  }

  createSink(out: Writable): FlvSink {
    return new FlvSink(out, this.#source, { video: this.#video, frame: this.#frame })
  }

  close(): void {}
}

/** One receiver. Sound that stops, begins later or is missing holds back no picture. */
class FlvSink extends ByteSink {
  override readonly timesSound = false
  readonly #source: FormatSource
  readonly #video: RtpStream
  readonly #frame: FrameTags
  readonly #clock = new DecodeClock()
  /** Media time of the first tag, milliseconds; undefined before the first key picture. */
  #startMs: number | undefined
  #configuration: Buffer | undefined
  #sound: Sound | undefined
  #losses: number

  constructor(out: Writable, source: FormatSource, { video, frame }: { readonly video: RtpStream; readonly frame: FrameTags }) {
    super(out)
    this.#source = source
    this.#video = video
    this.#frame = frame
    this.#losses = source.live ? source.losses : -1
  }

  begin(): void {}

  check(): void {}

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    const tags = track === 0 ? this.#pictureTags(unit, timestamp) : this.#soundTags(unit)
    return tags.length === 0 ? 0 : this.write(this.#frame(tags))
  }

  #pictureTags(unit: AccessUnit, timestamp: number | undefined): readonly Buffer[] {
    const picture = this.#source.elementary.picture(unit)
    if (picture === undefined) return []
    const { losses, firstUnitAfterLoss } = this.#source
    const isBack = unit.index >= firstUnitAfterLoss && this.#losses !== losses
    if (!picture.key && (isBack || this.#startMs === undefined)) return []
    const mediaMs = this.#mediaMsOf(unit, picture, timestamp)
    this.#startMs ??= mediaMs
    if (isBack) this.#clock.reset()
    this.#losses = losses
    const pts = Math.round((mediaMs - this.#startMs) * 90)
    const dts = Math.max(0, this.#clock.next(pts, picture.reorderFrames))
    const timeMs = Math.round(dts / 90)
    return [...this.#configurationTags(picture, timeMs), pictureTag(timeMs, Math.max(0, Math.round(pts / 90) - timeMs), picture)]
  }

  /** The compressed time of a cached picture; times of B-frames lie between others, and would not fit the next ones. */
  #mediaMsOf({ mediaMs }: AccessUnit, { reorderFrames }: CodedPicture, timestamp: number | undefined): number {
    const clockRate = this.#video.caps?.clockRate ?? 90_000
    if (timestamp === undefined || reorderFrames > 0) return mediaMs
    return mediaMs + (((timestamp - this.#video.timestampAt(mediaMs)) | 0) * 1000) / clockRate
  }

  #configurationTags({ key, nals, config }: CodedPicture, timeMs: number): readonly Buffer[] {
    const configuration = key ? avcConfiguration(nals) : undefined
    const before = this.#configuration
    if (configuration === undefined || before?.equals(configuration) === true) return []
    this.#configuration = configuration
    const { readable } = this.#source.sound
    const first = before === undefined ? [metadataTag(config, readable && flvSoundOf(readable.sound)?.id)] : []
    return [...first, avcConfigurationTag(timeMs, configuration)]
  }

  #soundTags(unit: AccessUnit): readonly Buffer[] {
    const { readable } = this.#source.sound
    const carried = readable && flvSoundOf(readable.sound)
    if (readable === undefined || carried === undefined || this.#startMs === undefined || unit.mediaMs < this.#startMs) return []
    const { sound } = readable
    let atMs = unit.mediaMs - this.#startMs
    return sound.frames(unit.payloads()).flatMap((frame) => {
      const timeMs = Math.round(atMs)
      atMs += sound.frameMs(frame)
      const configuration = this.#sound === sound ? undefined : carried.configurationTag(timeMs, frame)
      this.#sound = sound
      return [...(configuration === undefined ? [] : [configuration]), carried.tag(timeMs, frame)]
    })
  }
}
