import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LogLine } from '../../lib/engine/messages.ts'
import type { FoundLine } from '../../lib/schema/log.ts'

interface PipelineLog {
  readonly id: string
  readonly lines: readonly LogLine[]
}

interface LogSearch {
  /** Part of a line or of an id, in upper or lower case. */
  readonly search: string
  readonly stream?: LogLine['stream'] | undefined
  /** Most lines. */
  readonly limit: number
}

/** Lines that are searched in one turn of the event loop. */
const LINES_AT_ONCE = 5000

/** The newest lines of many logs that contain a text, oldest first. */
export const searchLogs = async (logs: Iterable<PipelineLog>, { search, stream, limit }: LogSearch): Promise<readonly FoundLine[]> => {
  const wanted = search.toLowerCase()
  const contains = (text: string): boolean => text.toLowerCase().includes(wanted)
  let found: FoundLine[] = []
  /** Older lines are not among the newest. */
  let since = ''
  let searched = 0
  for (const { id, lines } of logs) {
    const isWanted = contains(id)
    for (const line of lines)
      if (line.at >= since && (stream ?? line.stream) === line.stream && (isWanted || contains(line.line)))
        found.push({ pipeline_id: id, ...line })
    if (found.length > 2 * limit) {
      found = newest(found, limit)
      since = found[0]?.at ?? ''
    }
    searched += lines.length
    if (searched >= LINES_AT_ONCE) {
      searched = 0
      await nextTurn()
    }
  }
  return newest(found, limit)
}

/** Lines of the same time keep their order. */
const newest = (lines: readonly FoundLine[], limit: number): FoundLine[] =>
  lines.toSorted((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0)).slice(-limit)
