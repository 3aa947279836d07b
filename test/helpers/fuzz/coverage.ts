import { Session } from 'node:inspector'

/** The part of a script that has run, and about how often. */
type Feature = string

/** How often, in powers of two: more often is news, once more is not. */
const magnitude = (count: number): number => Math.ceil(Math.log2(count + 1))

interface Block {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Block[] }[]
}

/** The block coverage of the product by V8 itself, since the last call. */
export class Coverage {
  readonly #session = new Session()

  constructor() {
    this.#session.connect()
    this.#post('Profiler.enable')
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  take(): readonly Feature[] {
    const { result } = this.#post('Profiler.takePreciseCoverage') as { readonly result: readonly ScriptCoverage[] }
    return result
      .filter(({ url }) => /\/(?:engine|lib)\//.test(url) && !url.includes('node_modules'))
      .flatMap(({ url, functions }) =>
        functions.flatMap(({ ranges }) =>
          ranges.flatMap(({ startOffset, endOffset, count }) =>
            count === 0 ? [] : [`${url}:${startOffset}-${endOffset}:${magnitude(count)}`],
          ),
        ),
      )
  }

  close(): void {
    this.#session.disconnect()
  }

  #post(method: string, parameters: object = {}): unknown {
    let answer: unknown
    // Calls back before it returns.
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw error
      answer = result
    })
    return answer
  }
}
