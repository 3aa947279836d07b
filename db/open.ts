import type { Client } from '@libsql/client'
import { type Database, type DatabaseClient, type DatabaseConnection, toDatabase } from './connect/connection.ts'
import { openingError } from './connect/database-error.ts'
import { checkVersion, migrate } from './migrations/migrate.ts'
import { MIGRATIONS } from './migrations/migrations.ts'

export type { Database } from './connect/connection.ts'

interface DatabaseOptions {
  /** `file:<path>`, `libsql://`, `https://` or `http://`. */
  readonly url: string
  /** For a libSQL server. */
  readonly authToken?: string
}

/** How long a statement waits for a lock of another process, milliseconds. */
const BUSY_TIMEOUT_MS = 5000

/** Opens a libSQL file or server and applies the migrations. Throws DatabaseError with a message for the operator. */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  let connection: DatabaseConnection | undefined
  try {
    connection = await connect(options)
    await migrate(connection.client, MIGRATIONS)
    return toDatabase(connection)
  } catch (error) {
    connection?.client.close()
    throw toOpeningError(options, error)
  }
}

/**
 * Reads a database that another process may use, without migrating it; undefined for an empty one. Throws DatabaseError with a message
 * for the operator when this program cannot use it, or a part of the file is damaged.
 */
export const checkDatabase = async <T>(options: DatabaseOptions, read: (database: Database) => Promise<T>): Promise<T | undefined> => {
  let connection: DatabaseConnection | undefined
  try {
    connection = await connect(options)
    const version = await checkVersion(connection.client, MIGRATIONS)
    if (options.url.startsWith('file:')) await checkPages(connection.client)
    return version > 0 ? await read(toDatabase(connection)) : undefined
  } catch (error) {
    throw toOpeningError(options, error)
  } finally {
    connection?.client.close()
  }
}

/** Reads all pages: opening a file finds damage in its first page only. */
const checkPages = async (client: DatabaseClient): Promise<void> => {
  const { rows } = await client.execute('PRAGMA quick_check(1)')
  const found = rows[0]?.quick_check
  if (found !== 'ok') throw Object.assign(new Error(String(found)), { code: 'SQLITE_CORRUPT' })
}

const toOpeningError = ({ url }: DatabaseOptions, error: unknown): Error =>
  openingError(placeOf(url), error, { isServer: !url.startsWith('file:') })

// Imported on demand: other runtimes do not have the native add-on for files, and a file needs no HTTP client.
const connect = async (options: DatabaseOptions): Promise<DatabaseConnection> =>
  options.url.startsWith('file:') ? connectToFile(options) : (await import('./connect/server.ts')).connectToServer(options)

const connectToFile = async ({ url }: DatabaseOptions): Promise<DatabaseConnection> => {
  const [{ createClient }, { drizzle }] = await Promise.all([import('@libsql/client/sqlite3'), import('drizzle-orm/libsql/sqlite3')])
  // One connection: with a pool a write during an open transaction stalls the event loop for the busy timeout, and then fails.
  const client = createClient({ url, concurrency: 1, timeout: BUSY_TIMEOUT_MS })
  try {
    await client.execute('PRAGMA journal_mode = WAL')
    // With WAL a killed process loses nothing; only a power failure can lose the last writes.
    await client.execute('PRAGMA synchronous = NORMAL')
  } catch (error) {
    client.close()
    throw error
  }
  return { client, orm: drizzle(client), tryWrite: () => tryWrite(client), beforeClose: () => emptyLog(client) }
}

/**
 * Writes a page, as every change does: only this shows that the disk is full. Nothing uses `user_version`, and the write-ahead log is
 * emptied every 1000 pages. Does not wait for a lock of another process, which would block the event loop.
 */
const tryWrite = async (client: Client): Promise<void> => {
  try {
    await client.executeMultiple('PRAGMA busy_timeout = 0; PRAGMA user_version = 0')
  } finally {
    await client.execute(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/**
 * Moves the write-ahead log into the file, so that a copy of the file alone, made while the service is stopped, is complete. SQLite does
 * this when a connection is closed, but the driver closes none while its statements are in memory.
 */
const emptyLog = async (client: DatabaseClient): Promise<void> => {
  try {
    await client.execute('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch {
    // As on a full disk: the log stays, and is read when the file is opened again.
  }
}

/** The file, or the server without user name and password. */
const placeOf = (url: string): string =>
  url.startsWith('file:') ? url.replace(/^file:(\/\/(?=\/))?/, '') : URL.canParse(url) ? new URL(url).host : 'The database'
