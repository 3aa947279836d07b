import { type Child, startChild } from '../../gst/child.ts'
import { GdpReader, gdpBuffers, gdpSegmentDone } from '../../gst/gdp.ts'
import type { AccessUnit } from '../../rtp/access-unit.ts'
import { wholeJpeg } from '../jpeg/jpeg.ts'
import { type DecodedJpeg, MAX_JPEG_BYTES } from './decode-to-jpeg.ts'
import type { Decoder } from './decoder-line.ts'

/** After this many pictures another process takes over, since a decoder may leak. */
const MAX_PICTURES = 500
/** RFC 3550 section 5.1. */
const SEQUENCE_OFFSET = 2
const SECOND = 1_000_000_000n

interface Expected {
  readonly pts: bigint
  readonly settle: (jpeg: Buffer | undefined) => void
}

/**
 * A decoder process that stays for the next key frame: starting one costs twice as much CPU as a picture. The end of a segment
 * after the key frame makes it output the picture at once; the timestamp shows whether it is the requested one.
 */
export class KeptDecoder {
  readonly #decoder: Decoder
  readonly #timeoutMs: number
  readonly #child: Child
  readonly #output = new GdpReader(MAX_JPEG_BYTES, {
    onBuffer: ({ payload, pts }) => {
      if (pts === this.#expected?.pts) this.#expected.settle(payload)
    },
  })
  #expected: Expected | undefined
  #pictures = 0
  #nextSequence = 0
  #ended = false

  /** One that takes longer than `timeoutMs` for a key frame is killed. */
  constructor(decoder: Decoder, timeoutMs: number) {
    this.#decoder = decoder
    this.#timeoutMs = timeoutMs
    const [file, ...args] = decoder.command
    this.#child = startChild(file, args, { mediaPipes: 0, reach: {}, input: true })
    // The end of the child says more than the error of its pipe.
    this.#child.stdin?.on('error', () => {})
    this.#child.stdin?.write(decoder.start)
    this.#child.stdout.on('data', (chunk: Buffer) => this.#onOutput(chunk))
    this.#child.stderr.resume()
    void this.#child.ended.then(() => {
      this.#ended = true
      this.#expected?.settle(undefined)
    })
  }

  /** Whether it can decode one more key frame of this format. */
  serves({ command, start }: Decoder): boolean {
    const own = this.#decoder
    return !this.#ended && this.#pictures < MAX_PICTURES && own.start.equals(start) && own.command.join('\0') === command.join('\0')
  }

  /** The picture of one key frame, one call at a time. Undefined, and the process has ended, when there is none in time. */
  async decode(keyFrame: Pick<AccessUnit, 'packets'>, signal?: AbortSignal): Promise<DecodedJpeg | undefined> {
    this.#pictures += 1
    const pts = BigInt(this.#pictures) * SECOND
    const { promise, resolve: settle } = Promise.withResolvers<Buffer | undefined>()
    const onAbort = (): void => settle(undefined)
    const timer = setTimeout(settle, this.#timeoutMs, undefined)
    signal?.addEventListener('abort', onAbort)
    this.#expected = { pts, settle }
    if (this.#ended || signal?.aborted) settle(undefined)
    else this.#child.stdin?.write(Buffer.concat([gdpBuffers(this.#renumbered(keyFrame.packets()), pts), gdpSegmentDone(pts)]))
    const jpeg = await promise
    this.#expected = undefined
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    const picture = jpeg && wholeJpeg(jpeg)
    if (picture === undefined) this.close()
    return picture
  }

  /** Ends the process. */
  close(): void {
    this.#ended = true
    this.#child.kill('SIGKILL')
  }

  /** A copy of the packets. Depayloaders drop what seems to come late, and a source's numbers return to those of earlier key frames. */
  #renumbered(packets: readonly Buffer[]): readonly Buffer[] {
    const shift = this.#nextSequence - (packets[0]?.readUInt16BE(SEQUENCE_OFFSET) ?? 0)
    return packets.map((packet) => {
      const copy = Buffer.from(packet)
      // What was lost within the key frame stays a gap.
      const sequence = (packet.readUInt16BE(SEQUENCE_OFFSET) + shift) & 0xffff
      copy.writeUInt16BE(sequence, SEQUENCE_OFFSET)
      this.#nextSequence = sequence + 1
      return copy
    })
  }

  #onOutput(chunk: Buffer): void {
    if (!this.#output.push(chunk)) this.#expected?.settle(undefined)
  }
}
