import { maskSecretsOf } from '../../lib/credentials/secrets.ts'
import type { LogLine } from '../../lib/engine/messages.ts'
import type { PipelineConfig, PushView } from '../../lib/schema/pipeline.ts'
import { Push, type PushFacts, type PushParts } from './push.ts'

const MAX_LINES = 50
const MAX_LINE_LENGTH = 2000

type PushesParts = Omit<PushParts, 'number' | 'target' | 'addLine' | 'mask' | 'pipelineId'> & {
  readonly config: PipelineConfig
  /** Number of the present run of the pipeline, which its log lines carry. */
  readonly run: () => number
}

/** The pushes of one pipeline, each with a log of its own. */
export class Pushes {
  readonly #pushes: readonly { readonly push: Push; readonly lines: LogLine[] }[]

  constructor({ config, run, ...parts }: PushesParts) {
    const mask = maskSecretsOf(config)
    this.#pushes = config.push.map((target, index) => {
      const number = index + 1
      const lines: LogLine[] = []
      const addLine: PushParts['addLine'] = (stream, text) => {
        // First masked, then cut: a part of a password could not be found.
        const line = `push ${number}: ${mask(text)}`.slice(0, MAX_LINE_LENGTH)
        lines.push({ at: new Date(parts.now()).toISOString(), run: run(), stream, line })
        if (lines.length > MAX_LINES) lines.shift()
      }
      return { push: new Push({ ...parts, pipelineId: config.id, number, target, mask, addLine }), lines }
    })
  }

  begin(): void {
    for (const { push } of this.#pushes) push.begin()
  }

  settingsChanged(): void {
    for (const { push } of this.#pushes) push.settingsChanged()
  }

  /** Resolves when every child is reaped. */
  async end(): Promise<void> {
    await Promise.all(this.#pushes.map(({ push }) => push.end()))
  }

  view(): readonly PushView[] {
    return this.#pushes.map(({ push }) => push.view())
  }

  facts(): readonly PushFacts[] {
    return this.#pushes.map(({ push }) => push.facts())
  }

  /** The lines of a pipeline's log with those of its pushes between them, which begin with `push <number>:`. */
  log(lines: readonly LogLine[]): readonly LogLine[] {
    const own = this.#pushes.flatMap((one) => one.lines)
    if (own.length === 0) return lines
    return [...lines, ...own].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
  }
}
