import { printable, printableJson } from '../../../lib/log/printable.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'
import { shortDuration } from '../terminal/amounts.ts'
import { type Column, formatTable } from '../terminal/table.ts'

const COLUMNS: readonly Column[] = [
  { title: 'ID', minWidth: 16 },
  { title: 'FROM' },
  { title: 'TO' },
  { title: 'FOR', align: 'right', dropOrder: 2 },
  { title: 'SIZE', align: 'right', dropOrder: 1 },
  { title: 'TRACKS', dropOrder: 3 },
]

const MEGABYTE = 1e6

/** The newest spans of what was recorded. */
export const listRecordings: Run = async ({ client, given, signal, out, isJson }) => {
  const [id] = given.operands
  const [from, to, covers] = (['from', 'to', 'covers'] as const).map((name) => given.text(name))
  const asked = { ...(id !== undefined && { pipeline_id: id }), ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  const spans = await client.listRecordings({ ...asked, ...(covers !== undefined && { covers }), signal })
  if (isJson) out.print(printableJson(spans))
  else if (spans.length === 0) out.print(out.paint.dim('Nothing is recorded.'))
  else {
    const rows = spans.map((span) => [
      { text: printable(span.pipeline_id), paint: out.paint.bold },
      { text: span.from },
      { text: span.to },
      { text: shortDuration((Date.parse(span.to) - Date.parse(span.from)) / 1000) },
      { text: `${(span.bytes / MEGABYTE).toFixed(1)} MB` },
      { text: printable(span.tracks.join(' ')) },
    ])
    for (const line of formatTable(COLUMNS, rows, { width: out.columns, paintTitle: out.paint.dim })) out.print(line)
  }
  return EXIT.done
}
