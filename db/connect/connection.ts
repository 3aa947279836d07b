import type { Client } from '@libsql/client'
import type { LibSQLDatabase } from 'drizzle-orm/libsql/driver-core'
import type { WriteState } from '../../lib/ports.ts'
import { isBusy, refusesChanges } from './database-error.ts'

/** Minimum time between two test writes, since everybody may request the health, milliseconds. */
const TRY_EVERY_MS = 2000

/** An open, migrated database. */
export interface Database {
  readonly orm: LibSQLDatabase
  /** Whether it accepts changes, tested at most every 2 s; `ok` where that cannot be tested without a change. */
  writeState(): Promise<WriteState>
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
  writeState: tryWrite === undefined ? async () => 'ok' : atMostEvery(TRY_EVERY_MS, () => stateAfter(tryWrite)),
  close: async () => {
    await beforeClose?.()
    client.close()
  },
})

const stateAfter = (write: () => Promise<void>): Promise<WriteState> =>
  write().then(
    () => 'ok',
    (error: unknown) => (isBusy(error) ? 'busy' : refusesChanges(error) ? 'read_only' : 'ok'),
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
