import type { AudioView } from '../../lib/schema/pipeline.ts'
import { type Sound, soundOf } from '../codec/audio/sound-codecs.ts'
import { type RtpCaps, sameFormat } from '../rtp/caps.ts'
import type { RtpStream } from '../rtp/stream.ts'

/** What is known of the sound of a source before it comes. */
export type FoundSound =
  /** Its caps will say it. */
  'unknown' | 'none' | { readonly codec: string; readonly rate: number | null; readonly channels: number | null; readonly reason: string }

/** Sound that no output takes as it is. */
export const notCarried = (sound: {
  readonly codec: string
  readonly rate: number | null
  readonly channels: number | null
}): FoundSound => ({
  ...sound,
  reason: `Sound in ${sound.codec.toUpperCase()} is not carried as it is. Set audio to "aac" or "opus".`,
})

const NOT_IN_TS =
  'RTSP and live video in a browser carry it; MPEG-TS does not, nor do files and pushes over SRT, UDP and RTMP. Set audio to "aac" for these.'

/** Why some outputs leave sound of a codec out. */
const REASONS: Readonly<Record<Sound['codec'], string | null>> = {
  aac: null,
  opus: null,
  mp3: null,
  mp2: 'RTSP and MPEG-TS carry it; RTMP does not, and browsers have no decoder for it. Set audio to "aac" for these.',
  pcmu: NOT_IN_TS,
  pcma: NOT_IN_TS,
  l16: NOT_IN_TS,
}

const NOT_IN_RTMP = 'Pushes over RTMP go without it. Set audio to "aac" for these.'

const UNREAD = 'RTSP carries it. Its description lacks what other outputs need. Set audio to "aac" or "opus" for these.'

/** The sound of a stream: what it is by its caps and its first packets. */
export class ServedSound {
  readonly #stream: RtpStream
  #found: FoundSound = 'none'
  /** The caps of the present run. */
  #caps: RtpCaps | undefined
  #sound: Sound | undefined
  #isRead = false

  /** `onChange` is called when the sound of a run becomes known, or another one. */
  constructor(stream: RtpStream, onChange: () => void) {
    this.#stream = stream
    stream.onCaps((caps) => {
      // The same caps are set more than once.
      if (this.#caps !== undefined && sameFormat(this.#caps, caps)) return
      this.#caps = caps
      this.#isRead = false
      this.#sound = soundOf(caps)
      onChange()
    })
    stream.onUnit((unit) => {
      if (this.#isRead || this.#caps === undefined) return
      this.#isRead = true
      const { codec, channels } = this.#sound ?? {}
      this.#sound = soundOf(this.#caps, unit.payloads())
      if (this.#sound?.codec !== codec || this.#sound?.channels !== channels) onChange()
    })
  }

  /** A run begins. */
  begin(found: FoundSound): void {
    this.#found = found
    this.#caps = undefined
  }

  /** The stream of the sound and how to read it; undefined while there is none that outputs other than RTSP can read. */
  get readable(): { readonly stream: RtpStream; readonly sound: Sound } | undefined {
    return this.#caps === undefined || this.#sound === undefined ? undefined : { stream: this.#stream, sound: this.#sound }
  }

  /** `toRtmp`: there is a receiver over RTMP. */
  view({ toRtmp }: { readonly toRtmp: boolean }): AudioView | null {
    if (typeof this.#found === 'object') return { ...this.#found, carried: false }
    if (this.#found === 'none' || this.#caps === undefined) return null
    const { encodingName, clockRate, parameters } = this.#caps
    if (this.#sound !== undefined) {
      const { codec, rate, channels } = this.#sound
      return { codec, rate, channels, carried: true, reason: REASONS[codec] ?? (toRtmp && codec === 'opus' ? NOT_IN_RTMP : null) }
    }
    const channels = Number(parameters.get('encoding-params')) || null
    return { codec: encodingName.toLowerCase(), rate: clockRate, channels, carried: true, reason: UNREAD }
  }
}
