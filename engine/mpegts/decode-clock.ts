/** Times of decoding of a stream with B-frames, from the times at which its pictures are shown: RTP has no others. */
export class DecodeClock {
  #waiting: number[] = []
  #last = Number.NEGATIVE_INFINITY

  reset(): void {
    this.#waiting = []
  }

  /**
   * When the next picture is decoded, ticks of 90 kHz: the sorted times of the pictures, delayed by the number of reordered ones.
   * Later than the one before, and never later than the picture is shown.
   */
  next(pts: number, reorderedPictures: number): number {
    if (this.#waiting.length === 0) {
      for (let before = reorderedPictures; before > 0; before -= 1) this.#waiting.push(pts - before)
    }
    this.#waiting.push(pts)
    this.#waiting.sort((one, other) => one - other)
    const earliest = this.#waiting.shift() ?? pts
    const dts = Math.min(pts, Math.max(earliest, this.#last + 1))
    this.#last = dts
    return dts
  }
}
