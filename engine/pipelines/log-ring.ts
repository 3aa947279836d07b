import type { LogLine } from '../../lib/engine/messages.ts'
import { redact } from '../../lib/redact.ts'

const MAX_LINES = 500
const MAX_LINE_LENGTH = 2000

/** The last lines of a pipeline's children, this run and earlier ones; credentials are masked on the way in. */
export class LogRing {
  #lines: LogLine[] = []
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  add(run: number, stream: LogLine['stream'], line: string): void {
    const text = redact(line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line)
    this.#lines.push({ at: new Date(this.#now()).toISOString(), run, stream, line: text })
    if (this.#lines.length > MAX_LINES) this.#lines.splice(0, this.#lines.length - MAX_LINES)
  }

  lines(): readonly LogLine[] {
    return [...this.#lines]
  }

  /** The newest lines a run wrote to stderr: what its end is classified by. */
  stderrTail(run: number, count: number): readonly string[] {
    return this.#lines
      .filter((line) => line.run === run && line.stream === 'stderr')
      .slice(-count)
      .map(({ line }) => line)
  }
}
