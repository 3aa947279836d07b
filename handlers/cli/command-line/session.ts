import type { Terminal } from '../terminal/terminal.ts'
import type { Given } from './arguments.ts'
import type { Connection } from './connection.ts'

/** All that a command has to work with. */
export interface Session extends Connection {
  readonly given: Given
  readonly out: Terminal
  readonly isJson: boolean
  /** Aborts with Ctrl-C. */
  readonly signal: AbortSignal
}

/** A command; answers its exit code. */
export type Run = (session: Session) => Promise<number>
