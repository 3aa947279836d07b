import type { Client, InStatement } from '@libsql/client'
import { pause } from '../../lib/pause.ts'
import { createSlots } from '../../lib/slots.ts'
import type { DatabaseClient, DatabaseConnection } from './connection.ts'
import { isBusy } from './database-error.ts'

/** How long a statement waits for the lock of another program, milliseconds. */
const BUSY_MS = 5000
/** Longest pause between two attempts, milliseconds: each takes 0.05 ms. */
const RETRY_MS = 50
/** Writes that wait, each with its own time. */
const MAX_WAITING = 1000

/** With WAL a killed process loses nothing; only a power failure can lose the last writes. */
const SETTINGS = 'PRAGMA synchronous = NORMAL'

/** A libSQL file. Imported on demand: other runtimes do not have the native add-on. */
export const connectToFile = async (url: string): Promise<DatabaseConnection> => {
  const [{ createClient }, { drizzle }] = await Promise.all([import('@libsql/client/sqlite3'), import('drizzle-orm/libsql/http')])
  // One connection: with a pool a write during an open transaction fails. It waits for no lock itself, which would block the event loop.
  const client = createClient({ url, concurrency: 1, timeout: 0 })
  const patient = waitingClient(client)
  try {
    await patient.execute('PRAGMA journal_mode = WAL')
    await client.executeMultiple(SETTINGS)
  } catch (error) {
    client.close()
    throw error
  }
  return { client: patient, orm: drizzle(patient as Client), tryWrite: () => tryWrite(client), beforeClose: () => emptyLog(client) }
}

/**
 * A client whose statements wait for the lock of another program between other work; the writes in the order in which they came. The driver
 * does not reset a statement that found the database locked: nothing after it would be committed, and other programs would be locked out.
 * So each write tries the lock first, in a statement that is never kept, and a connection with such a statement is replaced.
 */
const waitingClient = (client: Client): DatabaseClient => {
  const writes = createSlots({ running: 1, waiting: MAX_WAITING, refusal: tooMany })
  const attempt = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      if (isBusy(error)) {
        client.reconnect()
        await client.executeMultiple(SETTINGS)
      }
      throw error
    }
  }
  const write = <T>(run: () => Promise<T>): Promise<T> => {
    const deadline = performance.now() + BUSY_MS
    const locked = async (): Promise<T> => {
      await client.executeMultiple('BEGIN IMMEDIATE; COMMIT')
      return attempt(run)
    }
    return writes.run(() => untilFree(locked, deadline))
  }
  const read = <T>(run: () => Promise<T>): Promise<T> => untilFree(() => attempt(run), performance.now() + BUSY_MS)
  // With WAL a read waits for no write.
  const isRead = (sql: string): boolean => /^\s*(?:select|pragma)\b/i.test(sql)
  return {
    execute: (statement: InStatement) => {
      const run = () => client.execute(statement)
      return isRead(typeof statement === 'string' ? statement : statement.sql) ? read(run) : write(run)
    },
    batch: (...args: Parameters<Client['batch']>) => write(() => client.batch(...args)),
    close: () => client.close(),
  } as DatabaseClient
}

const tooMany = (): Error => Object.assign(new Error('too many writes wait for the lock'), { code: 'SQLITE_BUSY' })

const untilFree = async <T>(run: () => Promise<T>, deadline: number): Promise<T> => {
  for (let waitMs = 1; ; waitMs = Math.min(2 * waitMs, RETRY_MS)) {
    try {
      return await run()
    } catch (error) {
      if (!isBusy(error) || performance.now() + waitMs > deadline) throw error
    }
    await pause(waitMs)
  }
}

/**
 * Writes a page, as every change does: only this shows that the disk is full. Nothing uses `user_version`, and the write-ahead log is
 * emptied every 1000 pages.
 */
const tryWrite = (client: Client): Promise<void> => client.executeMultiple('PRAGMA user_version = 0')

/**
 * Moves the write-ahead log into the file, so that a copy of the file alone, made while the service is stopped, is complete. SQLite does
 * this when a connection is closed, but the driver closes none while its statements are in memory.
 */
const emptyLog = async (client: Client): Promise<void> => {
  try {
    await client.executeMultiple('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // As on a full disk: the log stays, and is read when the file is opened again.
  }
}
