import type { PesPacket } from '../../mpegts/pes.ts'
import type { RtpCaps } from '../../rtp/caps.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { RtpPackets } from './rtp-packets.ts'

/** One frame of sound. */
export interface SoundFrame {
  /** The payloads of its RTP packets. */
  readonly payloads: readonly Uint8Array[]
  /** How long it lasts, ticks of the clock of its RTP. */
  readonly duration: number
  /** It began in the PES packet before, so the time stamp of this one is that of a later frame. */
  readonly began?: true
}

/** Finds the frames of a codec in the payloads of PES packets. */
export interface SoundReader {
  /** The caps by the frames so far; undefined before the first, another object when they change. */
  readonly caps: RtpCaps | undefined
  /** The frames that this payload completes. */
  push(payload: Uint8Array): readonly SoundFrame[]
  /** The rest of an incomplete frame is missing. */
  reset(): void
}

const PTS_RATE = 90_000

/** Puts the sound in PES packets into RTP. */
export class SoundPackets {
  readonly #reader: SoundReader
  readonly #stream: RtpStream
  readonly #packets: RtpPackets
  readonly #ticksOf: (pts: number) => number
  #caps: RtpCaps | undefined
  /** Time of the next frame, ticks of the clock of the RTP. */
  #next: number | undefined

  constructor(reader: SoundReader, stream: RtpStream, ticksOf: (pts: number) => number) {
    this.#reader = reader
    this.#stream = stream
    this.#packets = new RtpPackets(stream)
    this.#ticksOf = ticksOf
  }

  take({ pts, payload }: PesPacket): void {
    let isTimed = pts === null
    for (const frame of this.#reader.push(payload)) {
      const { caps } = this.#reader
      if (caps === undefined) return
      if (caps !== this.#caps) {
        this.#caps = caps
        this.#stream.setCaps(caps)
      }
      if (pts !== null && !isTimed && frame.began !== true) {
        isTimed = true
        this.#next = Math.round((this.#ticksOf(pts) * caps.clockRate) / PTS_RATE)
      }
      // A frame before any time stamp has no time.
      if (this.#next === undefined) continue
      this.#packets.send(frame.payloads, { type: caps.payload, ticks: this.#next })
      this.#next += frame.duration
    }
  }

  lost(): void {
    this.#reader.reset()
    this.#next = undefined
    this.#packets.skip()
  }
}
