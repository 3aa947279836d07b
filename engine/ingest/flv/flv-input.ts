import type { RtpStream } from '../../rtp/stream.ts'
import { FlvReader, type FlvTag } from './flv-reader.ts'
import { FlvSound } from './flv-sound.ts'
import { FlvVideo } from './flv-video.ts'

const TICKS_PER_MS = 90
/** Times that jump by more belong to another time line, milliseconds. */
const MAX_JUMP_MS = 10_000

interface FlvOutput {
  readonly video: RtpStream
  /** Undefined when sound is not wanted. */
  readonly sound: RtpStream | undefined
  /** The video has another codec than H.264 and H.265. */
  readonly onOtherCodec: () => void
  /** Sound that is not carried as it is; once for each codec. */
  readonly onOtherSound: (codec: string) => void
}

/** Puts the video and the sound of FLV into RTP, as they are. */
export class FlvInput {
  readonly #output: FlvOutput
  readonly #reader = new FlvReader()
  readonly #video: FlvVideo
  readonly #sound: FlvSound | undefined
  readonly #beganMs = performance.now()
  /** Time of the newest tag, and its running time, milliseconds. */
  #last: { readonly ms: number; readonly runningMs: number } | undefined
  #otherSound: string | undefined
  #heard = false
  #silent = false

  constructor(output: FlvOutput) {
    this.#output = output
    this.#video = new FlvVideo(output.video)
    this.#sound = output.sound && new FlvSound(output.sound)
  }

  /** Sound came, but maybe no video. */
  get heard(): boolean {
    return this.#heard
  }

  /** The tags of a chunk. Throws FlvError. */
  read(chunk: Buffer): readonly FlvTag[] {
    const tags = this.#reader.push(chunk)
    if (this.#reader.hasSound === false && !this.#heard) this.#announceNoSound()
    return tags
  }

  /** How long before its time a tag would come at a moment, milliseconds; 0 for the first. */
  aheadMs({ ms }: FlvTag, nowMs: number): number {
    return this.#last === undefined ? 0 : this.#last.runningMs + ((ms - this.#last.ms) | 0) - (nowMs - this.#beganMs)
  }

  /** Takes a tag that came at a moment, monotonic milliseconds. */
  take({ kind, ms, data }: FlvTag, atMs: number): void {
    if (kind === 'script') return
    const ticks = this.#runningMs(ms, atMs) * TICKS_PER_MS
    if (kind === 'video') {
      if (!this.#video.take(data, ticks)) this.#output.onOtherCodec()
      return
    }
    this.#heard = true
    const other = this.#sound?.take(data, ticks)
    if (other === undefined || other === this.#otherSound) return
    this.#otherSound = other
    this.#output.onOtherSound(other)
  }

  /** Running time of a tag: that of its arrival for the first one, and from there on its own. */
  #runningMs(ms: number, atMs: number): number {
    const last = this.#last
    const step = last === undefined ? 0 : (ms - last.ms) | 0
    const runningMs = last === undefined || Math.abs(step) > MAX_JUMP_MS ? atMs - this.#beganMs : last.runningMs + step
    this.#last = { ms, runningMs }
    return runningMs
  }

  #announceNoSound(): void {
    if (this.#silent) return
    this.#silent = true
    this.#output.sound?.begin()
  }
}
