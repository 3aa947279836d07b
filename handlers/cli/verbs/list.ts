import { printable, printableJson } from '../../../lib/log/printable.ts'
import type { Pipeline } from '../../client/client.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'
import { OPTIONS, type OptionName } from '../command-line/verbs.ts'
import { bitrate, shortDuration } from '../terminal/amounts.ts'
import { outputAddress, statusCell, wordOf } from '../terminal/status.ts'
import { type Cell, type Column, cutEnd, formatTable } from '../terminal/table.ts'
import { watch } from './watch.ts'

/** The pipelines as a table, as JSON, or only their ids. */
export const list: Run = async (session) => {
  const read = (): Promise<Pipeline[]> => session.client.listPipelines({ ...filterOf(session), signal: session.signal })
  if (session.given.has('watch')) return watch(session, { read, lines: (pipelines) => linesOf(session, pipelines), keyOf: changesOf })
  for (const line of linesOf(session, await read())) session.out.print(line)
  return EXIT.done
}

const filterOf = ({ given }: Session) => ({
  mode: oneOf(given, 'mode', OPTIONS.mode.values),
  state: oneOf(given, 'state', OPTIONS.state.values),
})

const oneOf = <const T extends string>(given: Session['given'], option: OptionName, values: readonly T[]): T | undefined => {
  const text = given.text(option)
  const found = values.find((value) => value === text)
  if (text !== undefined && found === undefined) throw new UsageError(`Use --${option} with one of: ${values.join(', ')}`)
  return found
}

/** Without a terminal, the list is printed when this changes. */
const changesOf = (pipelines: readonly Pipeline[]): string => pipelines.map((pipeline) => `${pipeline.id} ${wordOf(pipeline)}`).join()

const linesOf = (session: Session, pipelines: readonly Pipeline[]): readonly string[] => {
  if (session.given.has('quiet')) return pipelines.map(({ id }) => printable(id))
  if (session.isJson) return [printableJson(pipelines, session.given.has('watch') ? undefined : 2)]
  return pipelines.length === 0 ? emptyLines(session) : tableOf(session, pipelines)
}

const emptyLines = ({ given, out }: Session): readonly string[] => {
  const text = given.has('mode') || given.has('state') ? 'No pipeline matches.' : 'No pipelines yet.'
  return [out.paint.dim(text)]
}

const COLUMNS: readonly Column[] = [
  { title: 'ID', minWidth: 16 },
  { title: 'STATE' },
  { title: 'FOR', align: 'right', dropOrder: 4 },
  { title: 'SOURCE', minWidth: 20, dropOrder: 5 },
  { title: 'OUTPUT', minWidth: 30, dropOrder: 6 },
  { title: 'FPS', align: 'right', dropOrder: 3 },
  { title: 'BITRATE', align: 'right', dropOrder: 2 },
  { title: 'READERS', align: 'right', dropOrder: 1 },
]

const tableOf = (session: Session, pipelines: readonly Pipeline[]): readonly string[] => {
  const { out } = session
  const rows = pipelines.map((pipeline) => rowOf(pipeline, session))
  const [head = '', ...lines] = formatTable(COLUMNS, rows, { width: out.columns, paintTitle: out.paint.dim })
  const withFault = (line: string, at: number): readonly string[] => {
    const fault = pipelines[at] && faultOf(pipelines[at])
    return fault === undefined ? [line] : [line, out.paint.dim(cutEnd(`  ↳ ${fault}`, out.columns))]
  }
  return [head, ...lines.flatMap(withFault)]
}

const rowOf = (pipeline: Pipeline, { out, url, now }: Session): readonly Cell[] => {
  const { runtime } = pipeline
  const isPlaying = runtime.phase === 'playing'
  return [
    { text: printable(pipeline.id), paint: out.paint.bold },
    statusCell(pipeline, out),
    { text: shortDuration((now() - Date.parse(runtime.since)) / 1000), paint: out.paint.dim },
    { text: printable(sourceOf(pipeline)) },
    { text: outputAddress(pipeline, url) },
    { text: isPlaying ? runtime.fps.toFixed(1) : '' },
    { text: isPlaying ? bitrate(runtime.bitrate_kbps) : '' },
    { text: runtime.readers > 0 ? String(runtime.readers) : '' },
  ]
}

const sourceOf = (pipeline: Pipeline): string =>
  pipeline.mode === 'simple' ? pipeline.source.uri : (pipeline.raw_pipeline.split('!')[0]?.trim() ?? '')

/** The fault of a pipeline that should play. */
const faultOf = ({ runtime }: Pipeline): string | undefined =>
  runtime.phase === 'failed' || runtime.phase === 'reconnecting' ? printable(runtime.last_error?.message ?? '') || undefined : undefined
