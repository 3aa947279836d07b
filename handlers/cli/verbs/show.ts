import { printable, printableJson } from '../../../lib/log/printable.ts'
import type { Pipeline } from '../../client/client.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'
import { fieldLines } from '../terminal/fields.ts'
import { statusCell, wordOf } from '../terminal/status.ts'
import { watch } from './watch.ts'

/** Every field of one pipeline. */
export const show: Run = async (session) => {
  const [id = ''] = session.given.operands
  const read = (): Promise<Pipeline> => session.client.getPipeline({ id, signal: session.signal })
  if (session.given.has('watch')) {
    return watch(session, { read, lines: (pipeline) => linesOf(session, pipeline), keyOf: wordOf })
  }
  for (const line of linesOf(session, await read())) session.out.print(line)
  return EXIT.done
}

const linesOf = ({ out, isJson, given, now }: Session, pipeline: Pipeline): readonly string[] => {
  if (isJson) return [printableJson(pipeline, given.has('watch') ? undefined : 2)]
  const { id, state: _, ...fields } = pipeline
  const status = statusCell(pipeline, out)
  return [`${out.paint.bold(printable(id))}  ${status.paint?.(status.text) ?? status.text}`, ...fieldLines(fields, out, now())]
}
