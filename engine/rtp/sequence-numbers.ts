import { randomBytes } from 'node:crypto'

/** A larger step of the sequence number is a restart of the source, not a loss. */
const MAX_STEP = 1_000

/** Rewrites the sequence numbers of successive children into one continuous series (RFC 3550 section 5.1: random start). */
export class SequenceNumbers {
  #next = randomBytes(2).readUInt16BE()
  #delta: number | undefined
  #gaps = 0

  /** How often packets were missing, or late, within a child. */
  get gaps(): number {
    return this.#gaps
  }

  /** A new child: its first packet continues the series, whatever its number. */
  begin(): void {
    this.#delta = undefined
  }

  /** Maps a child's sequence number. A loss before the engine stays a gap that readers can detect. */
  map(raw: number): number {
    const expected = this.#delta === undefined ? raw : (this.#next - this.#delta) & 0xffff
    const step = (raw - expected) & 0xffff
    if (step > 0 && step <= MAX_STEP) this.#gaps += 1
    if (this.#delta === undefined || (step > MAX_STEP && step < 0x10000 - MAX_STEP)) this.#delta = (this.#next - raw) & 0xffff
    const sequence = (raw + this.#delta) & 0xffff
    if (((sequence - this.#next) & 0xffff) < 0x8000) this.#next = (sequence + 1) & 0xffff
    return sequence
  }

  /** The packets that were mapped last have become `count` more, or fewer when it is negative. Later ones move by as much. */
  insert(count: number): void {
    if (this.#delta === undefined) return
    this.#delta = (this.#delta + count) & 0xffff
    this.#next = (this.#next + count) & 0xffff
  }
}
