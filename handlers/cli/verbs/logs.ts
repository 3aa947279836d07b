import { printable, printableJson } from '../../../lib/log/printable.ts'
import { pause } from '../../../lib/pause.ts'
import { MAX_LOG_LINES } from '../../../lib/schema/log.ts'
import { ApiError, type LogLine } from '../../client/client.ts'
import { mapConcurrent } from '../../declared/map-concurrent.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'

const INTERVAL_MS = 1000

interface OwnedLine extends LogLine {
  readonly pipeline_id: string
}

/** The last output lines of a pipeline, or of all, oldest first; with --follow also those that come, until Ctrl-C. */
export const logs: Run = async (session) => {
  const { given, signal } = session
  const last = new Map<string, LogLine>()
  for (;;) {
    const lines = await newLines(session, last)
    for (const line of lines) print(line, session)
    if (!given.has('follow')) return EXIT.done
    await pause(INTERVAL_MS, signal)
    if (signal.aborted) return EXIT.done
  }
}

/** The lines behind the `last` one of each pipeline, which it replaces. */
const newLines = async ({ client, given, signal }: Session, last: Map<string, LogLine>): Promise<readonly OwnedLine[]> => {
  const [one] = given.operands
  const ids = one === undefined ? (await client.listPipelines({ signal })).map(({ id }) => id) : [one]
  const logs = await mapConcurrent(ids, async (id) => {
    const lines = await client.getPipelineLog({ id, limit: MAX_LOG_LINES, signal }).catch((error: unknown) => {
      // Deleted since the list.
      if (one === undefined && error instanceof ApiError && error.status === 404) return []
      throw error
    })
    const fresh = linesAfter(lines, last.get(id))
    const newest = lines.at(-1)
    if (newest !== undefined) last.set(id, newest)
    return fresh.map((line) => ({ ...line, pipeline_id: id }))
  })
  return logs.flat().sort((before, after) => before.at.localeCompare(after.at))
}

/** Several lines may have the same time, and even the same text. */
const linesAfter = (lines: readonly LogLine[], last: LogLine | undefined): readonly LogLine[] => {
  if (last === undefined) return lines
  const seen = lines.findLastIndex(({ at, run, line }) => at === last.at && run === last.run && line === last.line)
  return seen === -1 ? lines.filter(({ at }) => at > last.at) : lines.slice(seen + 1)
}

const print = (line: OwnedLine, { out, isJson, given }: Session): void => {
  const { at, pipeline_id, line: text } = line
  const owner = given.operands.length === 0 ? `${out.paint.bold(printable(pipeline_id))}  ` : ''
  out.print(isJson ? printableJson(line) : `${out.paint.dim(at)}  ${owner}${printable(text)}`)
}
