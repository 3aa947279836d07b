import stringWidth from 'string-width'

/** A cell is measured by its plain text. */
export interface Cell {
  readonly text: string
  readonly paint?: ((text: string) => string) | undefined
}

export interface Column {
  readonly title: string
  /** Minimum width, if the terminal is too narrow. */
  readonly minWidth?: number
  /** If that is not enough, columns are dropped, the lowest number first. */
  readonly dropOrder?: number
  readonly align?: 'right'
}

interface TableStyle {
  /** Columns of the terminal; a character takes none, one or two. */
  readonly width: number
  readonly paintTitle: (text: string) => string
}

type Row = readonly Cell[]

const GAP = '  '

/** A header and a line per row. Empty columns are omitted. */
export const formatTable = (columns: readonly Column[], rows: readonly Row[], { width, paintTitle }: TableStyle): readonly string[] => {
  const widths = fitTo(width, columns, naturalWidths(columns, rows))
  const toLine = (row: Row): string =>
    row
      .flatMap((cell, at) => (widths[at] === 0 ? [] : [toCell(cell, widths[at] ?? 0, columns[at]?.align)]))
      .join(GAP)
      .trimEnd()
  return [columns.map(({ title }) => ({ text: title, paint: paintTitle })), ...rows].map(toLine)
}

/** 0 for an empty column. */
const naturalWidths = (columns: readonly Column[], rows: readonly Row[]): number[] =>
  columns.map(({ title }, at) => {
    const widest = Math.max(...rows.map((row) => stringWidth(row[at]?.text ?? '')))
    return widest === 0 ? 0 : Math.max(stringWidth(title), widest)
  })

/** Cuts the widest columns first; if that is not enough, drops a column, whose place the others get. */
const fitTo = (width: number, columns: readonly Column[], natural: readonly number[]): readonly number[] => {
  const droppable = columns.map(({ dropOrder }, at) => ({ dropOrder, at })).filter(({ dropOrder }) => dropOrder !== undefined)
  const order = droppable.sort((one, other) => (one.dropOrder ?? 0) - (other.dropOrder ?? 0)).map(({ at }) => at)
  const kept = [...natural]
  for (;;) {
    const widths = cutTo(width, columns, kept)
    const next = order.shift()
    if (excessOf(widths, width) <= 0 || next === undefined) return widths
    kept[next] = 0
  }
}

const excessOf = (widths: readonly number[], width: number): number =>
  widths.reduce((sum, one) => sum + (one === 0 ? 0 : one + GAP.length), -GAP.length) - width

const cutTo = (width: number, columns: readonly Column[], natural: readonly number[]): readonly number[] => {
  const widths = [...natural]
  const spare = (at: number): number => (widths[at] ?? 0) - (columns[at]?.minWidth ?? Number.POSITIVE_INFINITY)
  while (excessOf(widths, width) > 0) {
    const candidates = columns.map((_, at) => at).filter((at) => spare(at) > 0)
    const widest = candidates.sort((one, other) => spare(other) - spare(one))[0]
    if (widest === undefined) break
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

const toCell = ({ text, paint = (plain) => plain }: Cell, width: number, align: Column['align']): string => {
  const shown = cutMiddle(text, width)
  const space = ' '.repeat(Math.max(0, width - stringWidth(shown)))
  return align === 'right' ? space + paint(shown) : paint(shown) + space
}

/** Keeps both ends, since an address has its host at the start and the name at the end. */
const cutMiddle = (text: string, width: number): string => {
  if (stringWidth(text) <= width) return text
  const head = Math.ceil((width - 1) * 0.7)
  return `${startOf(text, head)}…${endOf(text, width - 1 - head)}`
}

/** Cuts a line at its end. */
export const cutEnd = (text: string, width: number): string => (stringWidth(text) <= width ? text : `${startOf(text, width - 1)}…`)

/** Grapheme clusters: a flag is several code points. */
const charactersOf = (text: string): string[] => Array.from(new Intl.Segmenter().segment(text), ({ segment }) => segment)

const startOf = (text: string, width: number): string => fill(charactersOf(text), width).join('')

const endOf = (text: string, width: number): string => fill(charactersOf(text).reverse(), width).reverse().join('')

/** The first characters that fit into the width. */
const fill = (characters: readonly string[], width: number): string[] => {
  let taken = 0
  const end = characters.findIndex((character) => {
    taken += stringWidth(character)
    return taken > width
  })
  return characters.slice(0, end === -1 ? characters.length : end)
}
