import type { Client } from '@libsql/client'
import type { LibSQLDatabase } from 'drizzle-orm/libsql/driver-core'
import { refusesChanges } from './database-error.ts'

/** Everyone may ask for the health: that many writes come of it at most, milliseconds. */
const TRY_EVERY_MS = 2000

/** An open, migrated database. */
export interface Database {
  readonly orm: LibSQLDatabase
  /** Whether it takes changes, tried at most every few seconds; true where that cannot be tried without a change. */
  isWritable(): Promise<boolean>
  /** Settles when the file holds everything by itself. */
  close(): Promise<void>
}

/** What the repositories and the migrations use of a libSQL client. */
export type DatabaseClient = Pick<Client, 'execute' | 'batch' | 'close'>

/** A connected database, perhaps not migrated yet. */
export interface DatabaseConnection {
  readonly client: DatabaseClient
  readonly orm: LibSQLDatabase
  /** Writes what changes nothing. */
  readonly tryWrite?: () => Promise<void>
  readonly beforeClose?: () => Promise<void>
}

export const toDatabase = ({ client, orm, tryWrite, beforeClose }: DatabaseConnection): Database => ({
  orm,
  isWritable: tryWrite === undefined ? async () => true : atMostEvery(TRY_EVERY_MS, () => succeeds(tryWrite)),
  close: async () => {
    await beforeClose?.()
    client.close()
  },
})

/** False only for what lasts until somebody corrects it: another process that writes meanwhile is done in a moment. */
const succeeds = (write: () => Promise<void>): Promise<boolean> =>
  write().then(
    () => true,
    (error: unknown) => !refusesChanges(error),
  )

/** Answers with the last result until it is too old. */
const atMostEvery = <T>(ms: number, run: () => Promise<T>): (() => Promise<T>) => {
  let at = Number.NEGATIVE_INFINITY
  let last: Promise<T> | undefined
  return () => {
    if (last !== undefined && performance.now() - at < ms) return last
    at = performance.now()
    last = run()
    return last
  }
}
