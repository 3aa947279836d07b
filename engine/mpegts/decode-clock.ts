/** Times of decoding of a stream, from the times at which its pictures are shown: RTP has no others. */
export class DecodeClock {
  #waiting: number[] = []
  #last = Number.NEGATIVE_INFINITY
  #begun = false

  reset(): void {
    this.#waiting = []
    this.#begun = false
  }

  /**
   * When the next picture is decoded, ticks of 90 kHz: the sorted times of the pictures, delayed by the number of reordered ones.
   * Later than the one before, and not later than the picture is shown, but where more pictures are reordered than was known.
   */
  next(pts: number, reorderedPictures: number): number {
    if (pts < this.#last) {
      this.#last += 1
      return this.#last
    }
    if (reorderedPictures === 0) this.#waiting = []
    while (this.#waiting.length < reorderedPictures) this.#waiting.unshift(this.#begun ? this.#last : (this.#waiting[0] ?? pts) - 1)
    this.#begun = true
    this.#waiting.push(pts)
    this.#waiting.sort((one, other) => one - other)
    const earliest = this.#waiting.shift() ?? pts
    const dts = Math.min(pts, Math.max(earliest, this.#last + 1))
    this.#last = dts
    return dts
  }
}
