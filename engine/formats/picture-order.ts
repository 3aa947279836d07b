import type { RtpStream } from '../rtp/stream.ts'

/** Whether the pictures of a run come in the order of their times. With B-frames they do not: those come after a later picture. */
export class PictureOrder {
  #newestMs = Number.NEGATIVE_INFINITY
  #keys = 0
  #broken = false

  constructor(stream: RtpStream) {
    stream.onUnit((unit) => this.#record(unit))
    stream.onLoss(() => this.#reset())
  }

  /** Undefined before the second key frame: a GOP that is still open may have B-frames to come. */
  get kept(): boolean | undefined {
    if (this.#broken) return false
    return this.#keys > 1 ? true : undefined
  }

  #record({ mediaMs, key }: { readonly mediaMs: number; readonly key: boolean }): void {
    if (mediaMs < this.#newestMs) this.#broken = true
    else this.#newestMs = mediaMs
    if (key) this.#keys += 1
  }

  #reset(): void {
    this.#newestMs = Number.NEGATIVE_INFINITY
    this.#keys = 0
    this.#broken = false
  }
}
