import type { RtpStream } from '../rtp/stream.ts'

/** Whether the pictures of a run come in the order of their times. B-frames do not: they come after a later picture. */
export class PictureOrder {
  #newestMs = Number.NEGATIVE_INFINITY
  #keys = 0
  #broken = false

  constructor(stream: RtpStream) {
    stream.onUnit((unit) => this.#record(unit))
    stream.onLoss(() => this.#reset())
  }

  /** Undefined before the second key frame: an open GOP may still have B-frames. */
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
