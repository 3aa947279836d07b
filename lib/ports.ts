/** What lib needs of its host, which passes in the implementations. */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** Whether changes can be stored; busy: another program holds the database. */
export type WriteState = 'ok' | 'busy' | 'read_only'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

/** One structured line per event; implementations redact credentials. */
export interface Log {
  debug(event: string, fields?: LogFields): void
  info(event: string, fields?: LogFields): void
  warn(event: string, fields?: LogFields): void
  error(event: string, fields?: LogFields): void
}

/** argon2id; a port because not every fetch runtime has it. */
export interface PasswordHasher {
  /** PHC string of a password. */
  hash(password: string): Promise<string>
  verify(hash: string, password: string): Promise<boolean>
}
