import type { MaskSecrets } from '../../lib/credentials/secrets.ts'
import type { LogLine } from '../../lib/engine/messages.ts'
import { redact } from '../../lib/redact.ts'

const MAX_LINES = 500
const MAX_LINE_LENGTH = 2000
/** Lines from which the end of a run is classified: as they came, each of up to 64 KiB. */
const TAIL_LINES = 20

/** The last log lines of a pipeline over all its runs; credentials are masked before a line is stored. */
export class LogRing {
  #lines: LogLine[] = []
  /** Lines of stderr as they came, for the cause of an end; never shown. */
  #tail: { readonly run: number; readonly line: string }[] = []
  #run = 0
  #mask: MaskSecrets = redact
  readonly #now: () => number

  /** `now`: milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Number of the newest run, 0 before the first. */
  get run(): number {
    return this.#run
  }

  /** Numbers the next run: 1 for the first since the pipeline was registered. `mask` masks its lines. */
  beginRun(mask: MaskSecrets = redact): number {
    this.#mask = mask
    this.#run += 1
    return this.#run
  }

  add(run: number, stream: LogLine['stream'], line: string): void {
    if (stream === 'stderr') {
      this.#tail.push({ run, line })
      if (this.#tail.length > TAIL_LINES) this.#tail.shift()
    }
    // First masked, then cut: a part of a password could not be found.
    const masked = this.#mask(line)
    const text = masked.length > MAX_LINE_LENGTH ? `${masked.slice(0, MAX_LINE_LENGTH)}…` : masked
    this.#lines.push({ at: new Date(this.#now()).toISOString(), run, stream, line: text })
    if (this.#lines.length > MAX_LINES) this.#lines.splice(0, this.#lines.length - MAX_LINES)
  }

  lines(): readonly LogLine[] {
    return [...this.#lines]
  }

  /** The newest stderr lines of a run, from which its end is classified. Credentials are not masked. */
  stderrTail(run: number): readonly string[] {
    return this.#tail.filter((line) => line.run === run).map(({ line }) => line)
  }
}
