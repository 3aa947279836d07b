import type { Terminal } from '../terminal/terminal.ts'
import type { Given } from './arguments.ts'
import type { Connection } from './connection.ts'

/** The context of a command. */
export interface Session extends Connection {
  readonly given: Given
  readonly out: Terminal
  readonly isJson: boolean
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal
}

/** A command; answers its exit code. */
export type Run = (session: Session) => Promise<number>
