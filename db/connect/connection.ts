import type { Client } from '@libsql/client'
import type { LibSQLDatabase } from 'drizzle-orm/libsql/driver-core'
import { refusesChanges } from './database-error.ts'

/** Minimum time between two test writes, since everybody may request the health, milliseconds. */
const TRY_EVERY_MS = 2000

/** An open, migrated database. */
export interface Database {
  readonly orm: LibSQLDatabase
  /** Whether it accepts changes, tested at most every 2 s; true where that cannot be tested without a change. */
  isWritable(): Promise<boolean>
  /** Resolves when the file is complete without its write-ahead log. */
  close(): Promise<void>
}

/** The part of a libSQL client that repositories and migrations use. */
export type DatabaseClient = Pick<Client, 'execute' | 'batch' | 'close'>

/** A connected database that may not be migrated yet. */
export interface DatabaseConnection {
  readonly client: DatabaseClient
  readonly orm: LibSQLDatabase
  /** Writes without changing anything. */
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

/** False only for lasting faults: a lock of another process passes. */
const succeeds = (write: () => Promise<void>): Promise<boolean> =>
  write().then(
    () => true,
    (error: unknown) => !refusesChanges(error),
  )

/** Returns the last result until it is too old. */
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
