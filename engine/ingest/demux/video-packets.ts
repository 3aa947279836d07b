import type { PesPacket } from '../../mpegts/pes.ts'
import { hasFields } from '../../rtp/repair/keeps-order.ts'
import { NAL_FORMATS, type NalCodec, type NalFormat } from '../../rtp/repair/nal-units.ts'
import { continuesPicture } from '../../rtp/repair/slices.ts'
import { nalUnits } from '../../rtp/repair/start-codes.ts'
import type { RtpStream } from '../../rtp/stream.ts'
import { RtpPackets } from './rtp-packets.ts'
import { VIDEO_PAYLOAD, videoCaps } from './video-caps.ts'

/** The step to a picture without a time stamp, before any is known: 25 pictures a second, 90 kHz ticks. */
const USUAL_STEP = 3600
const MAX_STEP = 90_000
/** PES_packet_length ends at 65,535: a picture that fills it may go on in the next packet. */
const FULL_BYTES = 65_000
const MAX_HELD_BYTES = 16 * 1024 * 1024
/** Slices and messages of one picture. */
const MAX_NALS = 4096

interface Held {
  readonly ticks: number
  readonly parts: Buffer[]
  bytes: number
}

/**
 * Puts the pictures of H.264 or H.265 in PES packets (Annex B) into RTP: each NAL unit in a packet of any size, which the stream cuts.
 * A PES packet is a picture, as all common multiplexers write it; where several make one picture, it is complete with the next one.
 */
export class VideoPackets {
  readonly #format: NalFormat
  readonly #codec: NalCodec
  readonly #stream: RtpStream
  readonly #packets: RtpPackets
  readonly #ticksOf: (pts: number) => number
  #held: Held | undefined
  /** Pictures go on in further PES packets. */
  #splits = false
  #lastTicks: number | undefined
  #step = USUAL_STEP

  constructor(codec: NalCodec, stream: RtpStream, ticksOf: (pts: number) => number) {
    this.#codec = codec
    this.#format = NAL_FORMATS[codec]
    this.#stream = stream
    this.#ticksOf = ticksOf
    this.#packets = new RtpPackets(stream)
    stream.setCaps(videoCaps(codec))
  }

  take({ pts, payload, bounded }: PesPacket): void {
    const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length)
    if (!this.#begins(bytes, pts)) {
      if (this.#held === undefined) this.#splits = true
      else this.#hold(this.#held, bytes)
      // The rest of a picture that did not fit into one PES packet.
      if (!this.#splits && bounded && bytes.length < FULL_BYTES) this.#flush()
      return
    }
    this.#flush()
    const ticks = pts === null ? this.#assumed() : this.#ticksOf(pts)
    if (ticks === undefined) return
    if (this.#splits || (bounded && bytes.length >= FULL_BYTES)) this.#held = { ticks, parts: [bytes], bytes: bytes.length }
    else this.#send(bytes, ticks)
  }

  /** A part of a picture is missing: the rest of it is of no use. */
  lost(): void {
    this.#held = undefined
    this.#packets.skip()
  }

  /** Whether a picture begins with these bytes. */
  #begins(bytes: Buffer, pts: number | null): boolean {
    const at = startOf(bytes)
    if (at === undefined) return false
    return pts !== null || !continuesPicture(this.#codec, bytes.subarray(at))
  }

  #hold(held: Held, bytes: Buffer): void {
    held.parts.push(bytes)
    held.bytes += bytes.length
    if (held.bytes > MAX_HELD_BYTES) this.lost()
  }

  #flush(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#send(Buffer.concat(held.parts), held.ticks)
  }

  #assumed(): number | undefined {
    return this.#lastTicks === undefined ? undefined : this.#lastTicks + this.#step
  }

  #send(bytes: Buffer, ticks: number): void {
    const nals = nalUnits(this.#format, bytes, MAX_NALS) ?? []
    const pictures = this.#pictures(nals)
    for (const [at, picture] of pictures.entries()) this.#packets.send(picture, { type: VIDEO_PAYLOAD, ticks: ticks + at * this.#step })
    if (this.#lastTicks !== undefined) {
      const step = ticks - this.#lastTicks
      if (step > 0 && step < MAX_STEP) this.#step = Math.round(step / pictures.length) || this.#step
    }
    this.#lastTicks = ticks + Math.max(0, pictures.length - 1) * this.#step
  }

  /** The NAL units of each picture, which begins with a delimiter, as a field does; the delimiters themselves are of no use in RTP. */
  #pictures(nals: readonly Buffer[]): readonly (readonly Buffer[])[] {
    const { typeOf, delimiter, isSlice } = this.#format
    const isInterlaced = hasFields(this.#codec, this.#stream.caps?.parameters ?? new Map())
    const pictures: Buffer[][] = [[]]
    let hasSlice = false
    for (const nal of nals) {
      const type = typeOf(nal[0] ?? 0)
      if (type === delimiter) {
        if (hasSlice && !isInterlaced) pictures.push([])
        hasSlice = false
        continue
      }
      hasSlice ||= isSlice(type)
      pictures.at(-1)?.push(nal)
    }
    return pictures.filter(({ length }) => length > 0)
  }
}

/** Where the first NAL unit begins, when the bytes begin with a start code. */
const startOf = (bytes: Buffer): number | undefined => {
  let at = 0
  while (bytes[at] === 0) at += 1
  return at >= 2 && bytes[at] === 1 ? at + 1 : undefined
}
