import { printable, printableJson } from '../../../lib/log/printable.ts'
import type { Pipeline } from '../../client/client.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'
import { relativeTime } from '../terminal/amounts.ts'
import { statusCell, wordOf } from '../terminal/status.ts'
import { watch } from './watch.ts'

/** Every field of one pipeline. */
export const show: Run = async (session) => {
  const [id = ''] = session.given.ids
  const read = (): Promise<Pipeline> => session.client.getPipeline({ id, signal: session.signal })
  if (session.given.has('watch')) {
    return watch(session, { read, lines: (pipeline) => linesOf(session, pipeline), keyOf: wordOf })
  }
  for (const line of linesOf(session, await read())) session.out.print(line)
  return EXIT.done
}

const linesOf = (session: Session, pipeline: Pipeline): readonly string[] => {
  const { out, isJson, given } = session
  if (isJson) return [printableJson(pipeline, given.has('watch') ? undefined : 2)]
  const { id, state, ...fields } = pipeline
  const status = statusCell(pipeline, out)
  const rows = leaves(fields).map(([name, value]) => [printable(name), value] as const)
  const width = Math.max(...rows.map(([name]) => name.length))
  return [
    `${out.paint.bold(printable(id))}  ${status.paint?.(status.text) ?? status.text}`,
    ...rows.map(([name, value]) => `  ${out.paint.dim(name.padEnd(width))}  ${shown(value, session)}`),
  ]
}

type Leaf = readonly [name: string, value: unknown]

/** Nested values by dotted path, so that new fields are shown too. */
const leaves = (value: object, path = ''): readonly Leaf[] =>
  Object.entries(value).flatMap(([name, inner]): readonly Leaf[] =>
    typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
      ? leaves(inner, `${path}${name}.`)
      : [[`${path}${name}`, inner]],
  )

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

const shown = (value: unknown, { out: { paint }, now }: Session): string => {
  if (value === null) return paint.dim('–')
  if (typeof value !== 'string') return printableJson(value)
  return TIME.test(value) ? `${value} ${paint.dim(`(${relativeTime(value, now())})`)}` : printable(value)
}
