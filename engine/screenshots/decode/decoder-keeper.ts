import { totalmem } from 'node:os'
import type { AccessUnit } from '../../rtp/access-unit.ts'
import type { DecodedJpeg } from './decode-to-jpeg.ts'
import type { Decoder } from './decoder-line.ts'
import { KeptDecoder } from './kept-decoder.ts'

/** A decoder is kept when the next picture is due within this time: for rarer ones its memory is worth more than the CPU. */
const MAX_INTERVAL_MS = 30_000
/** Grace after the time of the next picture. */
const LATE_MS = 5000
/** After a key frame that a kept decoder could not decode, the next ones are decoded by processes of their own. */
const PAUSE_MS = 60_000
/** A kept decoder that takes longer for a key frame is killed. */
const PICTURE_TIMEOUT_MS = 5000
/** Private memory of a process, measured: 16.5 MB for 640×480, 38 for 1920×1080. */
const BYTES = { process: 16 * 1024 * 1024, pixel: 12 }

/** The memory that kept decoders of all pipelines may take: a 16th of what the host or the container has. */
export class KeptMemory {
  #freeBytes: number

  constructor(bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 16) {
    this.#freeBytes = bytes
  }

  /** False when less is left. */
  take(bytes: number): boolean {
    if (bytes > this.#freeBytes) return false
    this.#freeBytes -= bytes
    return true
  }

  give(bytes: number): void {
    this.#freeBytes += bytes
  }
}

interface KeyFrameJob {
  readonly decoder: Decoder
  readonly keyFrame: Pick<AccessUnit, 'packets'>
  /** When the next one is due, milliseconds. */
  readonly nextWithinMs: number
  readonly signal?: AbortSignal | undefined
}

/** Keeps the decoder process of one stream between its periodic pictures, where that is worth its memory. */
export class DecoderKeeper {
  readonly #memory: KeptMemory
  readonly #timeoutMs: number
  #kept: KeptDecoder | undefined
  #keptBytes = 0
  #timer: NodeJS.Timeout | undefined
  #pausedUntilMs = 0

  constructor(memory: KeptMemory, timeoutMs = PICTURE_TIMEOUT_MS) {
    this.#memory = memory
    this.#timeoutMs = timeoutMs
  }

  /** Undefined when the picture has to be decoded by a process of its own. One call at a time. */
  async decode({ decoder, keyFrame, nextWithinMs, signal }: KeyFrameJob): Promise<DecodedJpeg | undefined> {
    if (nextWithinMs > MAX_INTERVAL_MS || performance.now() < this.#pausedUntilMs) return undefined
    clearTimeout(this.#timer)
    if (!this.#kept?.serves(decoder)) {
      this.close()
      this.#kept = new KeptDecoder(decoder, this.#timeoutMs)
    }
    const kept = this.#kept
    const picture = await kept.decode(keyFrame, signal)
    // It was closed meanwhile.
    if (kept !== this.#kept) return picture
    if (picture === undefined) this.#pausedUntilMs = performance.now() + PAUSE_MS
    if (picture === undefined || !this.#afford(picture)) this.close()
    else this.#timer = setTimeout(() => this.close(), nextWithinMs + LATE_MS).unref()
    return picture
  }

  /** Ends the process. */
  close(): void {
    clearTimeout(this.#timer)
    this.#kept?.close()
    this.#kept = undefined
    this.#memory.give(this.#keptBytes)
    this.#keptBytes = 0
  }

  #afford({ width, height }: DecodedJpeg): boolean {
    if (this.#keptBytes > 0) return true
    const bytes = BYTES.process + BYTES.pixel * width * height
    if (!this.#memory.take(bytes)) return false
    this.#keptBytes = bytes
    return true
  }
}
