import type { RtpStream } from '../rtp/stream.ts'

/** No decoder holds back more pictures (H.264 section A.3.1, H.265 section A.4.2). */
const MAX_REORDERED = 16

/** How many pictures of a stream come before one that is shown earlier. Without B-frames none does. */
export class PictureOrder {
  /** Times of the last pictures of this run. */
  #times: number[] = []
  #most = 0
  #keys = 0
  #inOrder = true

  constructor(stream: RtpStream) {
    stream.onUnit((unit) => this.#record(unit))
    stream.onLoss(() => this.#reset())
  }

  /** The most so far; undefined before the second key frame: an open GOP may still have B-frames. After a loss that of the run before stands until then. */
  get reordered(): number | undefined {
    return this.#most > 0 || this.#keys > 1 ? this.#most : undefined
  }

  #record({ mediaMs, key }: { readonly mediaMs: number; readonly key: boolean }): void {
    const later = this.#times.filter((time) => time > mediaMs).length
    if (later > 0) this.#inOrder = false
    this.#times = [...this.#times, mediaMs].slice(-MAX_REORDERED)
    if (key) this.#keys += 1
    this.#most = this.#inOrder && this.#keys > 1 ? 0 : Math.max(this.#most, later)
  }

  #reset(): void {
    this.#times = []
    this.#keys = 0
    this.#inOrder = true
  }
}
