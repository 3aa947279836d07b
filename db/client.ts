import type { Client } from '@libsql/client'
import type { LibSQLDatabase } from 'drizzle-orm/libsql/driver-core'
import { openingError, query } from './database-error.ts'
import { migrate } from './migrate.ts'
import { MIGRATIONS } from './migrations.ts'

export interface DatabaseOptions {
  /** `file:<path>`, `libsql://`, `https://` or `http://`. */
  readonly url: string
  /** For a libSQL server. */
  readonly authToken?: string
}

/** An open, migrated database. */
export interface Database {
  readonly orm: LibSQLDatabase
  /** Answers when the database does; throws SERVICE_UNAVAILABLE. */
  ping(): Promise<void>
  close(): void
}

interface Connection {
  readonly client: Client
  readonly orm: LibSQLDatabase
}

/** How long a statement waits for a lock of another process. */
const BUSY_TIMEOUT_MS = 5000

/** Opens a libSQL file or server and applies the migrations. Throws DatabaseError with a message for the operator. */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  let connection: Connection | undefined
  try {
    connection = await connect(options)
    await migrate(connection.client, MIGRATIONS)
    return toDatabase(connection)
  } catch (error) {
    connection?.client.close()
    throw openingError(placeOf(options.url), error)
  }
}

const connect = (options: DatabaseOptions): Promise<Connection> =>
  options.url.startsWith('file:') ? connectToFile(options) : connectToServer(options)

// Imported when needed: the file client is a native add-on that other runtimes do not have.
const connectToFile = async ({ url }: DatabaseOptions): Promise<Connection> => {
  const [{ createClient }, { drizzle }] = await Promise.all([import('@libsql/client/sqlite3'), import('drizzle-orm/libsql/sqlite3')])
  // One connection: with a pool a write during an open transaction stalls the event loop for the busy timeout, and then fails.
  const client = createClient({ url, concurrency: 1, timeout: BUSY_TIMEOUT_MS })
  try {
    await client.execute('PRAGMA journal_mode = WAL')
    // With WAL a killed process loses nothing; only a power cut can take the last writes.
    await client.execute('PRAGMA synchronous = NORMAL')
  } catch (error) {
    client.close()
    throw error
  }
  return { client, orm: drizzle(client) }
}

const connectToServer = async ({ url, authToken }: DatabaseOptions): Promise<Connection> => {
  const [{ createClient }, { drizzle }] = await Promise.all([import('@libsql/client/http'), import('drizzle-orm/libsql/http')])
  const client = createClient({ url, ...(authToken === undefined ? {} : { authToken }) })
  return { client, orm: drizzle(client) }
}

const toDatabase = ({ client, orm }: Connection): Database => ({
  orm,
  ping: () => query(async () => void (await client.execute('SELECT 1'))),
  close: () => client.close(),
})

/** The file, or the server without user name and password. */
const placeOf = (url: string): string =>
  url.startsWith('file:') ? url.slice('file:'.length) : URL.canParse(url) ? new URL(url).host : 'The database'
