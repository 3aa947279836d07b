import { pause } from '../../../lib/pause.ts'
import { ApiError } from '../../client/client.ts'
import { EXIT, exitCodeOf, explain } from '../command-line/exit.ts'
import type { Session } from '../command-line/session.ts'
import { LiveLines } from '../terminal/live-lines.ts'

interface Watched<T> {
  readonly read: () => Promise<T>
  readonly lines: (value: T) => readonly string[]
  /** Without a terminal, the lines are printed when this changes. */
  readonly keyOf: (value: T) => string
}

const INTERVAL_MS = 1000

/** Shows a value until Ctrl-C: redrawn on a terminal, else printed when it changes. */
export const watch = async <T>(session: Session, watched: Watched<T>): Promise<number> => {
  const { out, signal, isJson } = session
  const live = out.isInteractive && !isJson ? new LiveLines(process.stdout) : undefined
  let last: string | undefined
  try {
    while (!signal.aborted) {
      const found = await readOrFault(session, watched)
      if (signal.aborted) break
      if (live !== undefined) live.draw(found.lines)
      else if (found.key !== last) for (const line of found.lines) out.print(line)
      last = found.key
      await pause(INTERVAL_MS, signal)
    }
  } finally {
    live?.keep()
  }
  return EXIT.done
}

/** Waits for a service that restarts; throws permanent errors. */
const readOrFault = async <T>({ out, url, isJson, signal }: Session, { read, lines, keyOf }: Watched<T>) => {
  try {
    const value = await read()
    return { lines: lines(value), key: keyOf(value) }
  } catch (error) {
    if (signal.aborted) return { lines: [], key: '' }
    if (error instanceof ApiError && (exitCodeOf(error) !== EXIT.failed || error.status < 500)) throw error
    const text = explain(error, url)
    return { lines: isJson ? [] : [out.paint.yellow(text)], key: text }
  }
}
