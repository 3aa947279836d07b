import { rowsOf } from './terminal.ts'

/** Lines at the end of a terminal that are redrawn. */
export class LiveLines {
  readonly #stream: NodeJS.WriteStream
  #drawn = 0

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  /** Replaces the previous lines, and counts those without room. They must not be wider than the terminal. */
  draw(lines: readonly string[]): void {
    const shown = cutTo(lines, Math.max(1, rowsOf(this.#stream) - 1))
    // Hides the cursor, moves it up, erases each line to its end, and all below (ECMA-48 section 8.3).
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : ''
    this.#stream.write(`\u001b[?25l${up}\r${shown.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`)
    this.#drawn = shown.length
  }

  /** Removes the lines. */
  clear(): void {
    if (this.#drawn > 0) this.#stream.write(`\u001b[${this.#drawn}A\r\u001b[J`)
    this.#drawn = 0
    this.#stream.write('\u001b[?25h')
  }

  /** Leaves the lines in place. */
  keep(): void {
    this.#drawn = 0
    this.#stream.write('\u001b[?25h')
  }
}

const cutTo = (lines: readonly string[], rows: number): readonly string[] => {
  if (lines.length <= rows) return lines
  const kept = lines.slice(0, rows - 1)
  return [...kept, `… ${lines.length - kept.length} more lines`]
}
