import type { LogLine } from '../../lib/ports.ts'
import { redact } from '../../lib/redact.ts'

const MAX_LINES = 500
const MAX_LINE_LENGTH = 2000

/** The last log lines of a pipeline over all its runs; credentials are masked before a line is stored. */
export class LogRing {
  #lines: LogLine[] = []
  #run = 0
  readonly #now: () => number

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Number of the newest run, 0 before the first. */
  get run(): number {
    return this.#run
  }

  /** Numbers the next run: 1 for the first since the pipeline was registered. */
  beginRun(): number {
    this.#run += 1
    return this.#run
  }

  add(run: number, stream: LogLine['stream'], line: string): void {
    const text = redact(line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line)
    this.#lines.push({ at: new Date(this.#now()).toISOString(), run, stream, line: text })
    if (this.#lines.length > MAX_LINES) this.#lines.splice(0, this.#lines.length - MAX_LINES)
  }

  lines(): readonly LogLine[] {
    return [...this.#lines]
  }

  /** The newest stderr lines of a run, from which its end is classified. */
  stderrTail(run: number, count: number): readonly string[] {
    return this.#lines
      .filter((line) => line.run === run && line.stream === 'stderr')
      .slice(-count)
      .map(({ line }) => line)
  }
}
