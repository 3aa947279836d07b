import { watchSilence } from '../watch-silence.ts'
import { asEngineError, type EngineCaller, engineUnavailable, errorOf } from './caller.ts'

const MAX_LINE_LENGTH = 1024 * 1024

interface LinesOptions {
  readonly path: string
  /** After this time without a byte the engine counts as lost, milliseconds. */
  readonly silenceMs: number
  readonly signal: AbortSignal
}

/** A stream of JSON lines. Ends when the signal aborts or the engine ends it; throws when the engine refuses it, is lost or falls silent. */
export async function* readLines(caller: EngineCaller, { path, silenceMs, signal }: LinesOptions): AsyncGenerator<unknown> {
  // One controller for both ends: a signal of AbortSignal.any() is lost to the garbage collector while a stream lasts.
  const ending = new AbortController()
  const end = (): void => ending.abort()
  if (signal.aborted) return
  signal.addEventListener('abort', end)
  /** When the last bytes came, monotonic milliseconds; undefined while lines are used, since only the engine's silence counts. */
  let heardAt: number | undefined = performance.now()
  // One timer for many lines: a new one for each would wake the process once more for each.
  const stopWatching = watchSilence({ heardAt: () => heardAt ?? performance.now(), silenceMs: () => silenceMs, onSilent: end })
  try {
    const response = await caller({ method: 'GET', path, until: ending.signal })
    if (!response.ok) throw await errorOf(response)
    if (response.body === null) throw engineUnavailable()
    let rest = ''
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      heardAt = undefined
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE_LENGTH) throw engineUnavailable()
      for (const line of lines) yield JSON.parse(line)
      heardAt = performance.now()
    }
  } catch (error) {
    if (signal.aborted) return
    throw asEngineError(error)
  } finally {
    stopWatching()
    signal.removeEventListener('abort', end)
    end()
  }
}
