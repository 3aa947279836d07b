import { painter, terminalStyle } from '../../../lib/log/log-text.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** For a terminal that reports 0 columns and rows, such as a serial line or `docker exec -t`. */
const DEFAULT_SIZE = { columns: 80, rows: 24 }

/** Rows of a terminal. */
export const rowsOf = ({ rows }: Pick<NodeJS.WriteStream, 'rows'>): number => rows || DEFAULT_SIZE.rows

/** The output of a command. */
export interface Terminal {
  /** Whether standard output is a terminal. */
  readonly isInteractive: boolean
  readonly columns: number
  readonly rows: number
  readonly paint: ReturnType<typeof painter>
  print(text: string): void
}

export const openTerminal = (stream: NodeJS.WriteStream, environment: Environment): Terminal => {
  const style = terminalStyle(stream, environment)
  return {
    isInteractive: style !== undefined,
    // A pipe has no width.
    get columns() {
      return stream.isTTY ? stream.columns || DEFAULT_SIZE.columns : Number.POSITIVE_INFINITY
    },
    get rows() {
      return stream.isTTY ? rowsOf(stream) : Number.POSITIVE_INFINITY
    },
    paint: painter(style ?? { color: false }),
    print: (text) => void stream.write(`${text}\n`),
  }
}
