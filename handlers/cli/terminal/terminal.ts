import { painter, terminalStyle } from '../../../lib/log/log-text.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Of a terminal that does not know its size: 0 columns and 0 rows, as on a serial line or in `docker exec -t`. */
const USUAL = { columns: 80, rows: 24 }

/** Rows of a terminal. */
export const rowsOf = ({ rows }: Pick<NodeJS.WriteStream, 'rows'>): number => rows || USUAL.rows

/** Where a command writes, and how it looks there. */
export interface Terminal {
  /** Standard output is a terminal, so people read it. */
  readonly isInteractive: boolean
  readonly columns: number
  readonly rows: number
  readonly paint: ReturnType<typeof painter>
  print(text: string): void
}

/** Standard output as it is. */
export const openTerminal = (stream: NodeJS.WriteStream, environment: Environment): Terminal => {
  const style = terminalStyle(stream, environment)
  return {
    isInteractive: style !== undefined,
    // A pipe has no width.
    get columns() {
      return stream.isTTY ? stream.columns || USUAL.columns : Number.POSITIVE_INFINITY
    },
    get rows() {
      return stream.isTTY ? rowsOf(stream) : Number.POSITIVE_INFINITY
    },
    paint: painter(style ?? { color: false }),
    print: (text) => void stream.write(`${text}\n`),
  }
}
