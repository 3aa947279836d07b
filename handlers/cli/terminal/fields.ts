import { printable, printableJson } from '../../../lib/log/printable.ts'
import { relativeTime } from './amounts.ts'
import type { Terminal } from './terminal.ts'

/** A line for each field, nested ones by dotted path, so that new fields are shown too. */
export const fieldLines = (fields: object, { paint }: Terminal, now: number): readonly string[] => {
  const rows = leaves(fields).map(([name, value]) => [printable(name), value] as const)
  const width = Math.max(...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `  ${paint.dim(name.padEnd(width))}  ${shown(value, paint, now)}`)
}

type Leaf = readonly [name: string, value: unknown]

const leaves = (value: object, path = ''): readonly Leaf[] =>
  Object.entries(value).flatMap(([name, inner]): readonly Leaf[] =>
    typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0
      ? leaves(inner, `${path}${name}.`)
      : [[`${path}${name}`, inner]],
  )

const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

const shown = (value: unknown, paint: Terminal['paint'], now: number): string => {
  if (value === null) return paint.dim('–')
  if (typeof value !== 'string') return printableJson(value)
  return TIME.test(value) ? `${value} ${paint.dim(`(${relativeTime(value, now)})`)}` : printable(value)
}
