import { type Database, type DatabaseClient, type DatabaseConnection, toDatabase } from './connect/connection.ts'
import { isReadOnly, openingError } from './connect/database-error.ts'
import { connectToFile } from './connect/file.ts'
import { checkVersion, migrate } from './migrations/migrate.ts'
import { MIGRATIONS } from './migrations/migrations.ts'

export type { Database } from './connect/connection.ts'

interface DatabaseOptions {
  /** `file:<path>`, `libsql://`, `https://` or `http://`. */
  readonly url: string
  /** For a libSQL server. */
  readonly authToken?: string
}

/** Opens a libSQL file or server and applies the migrations. Throws DatabaseError with a message for the operator. */
export const openDatabase = async (options: DatabaseOptions): Promise<Database> => {
  let connection: DatabaseConnection | undefined
  try {
    connection = await connect(options)
    await migrate(connection.client, MIGRATIONS)
    await expectWritable(connection)
    return toDatabase(connection)
  } catch (error) {
    connection?.client.close()
    throw toOpeningError(options, error)
  }
}

/** A file that can only be read stays so for this process, also when it gets other rights. Other faults, such as a full disk, pass. */
const expectWritable = async ({ tryWrite }: DatabaseConnection): Promise<void> => {
  await tryWrite?.().catch((error: unknown) => {
    if (isReadOnly(error)) throw error
  })
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

// Imported on demand: a file needs no HTTP client.
const connect = async (options: DatabaseOptions): Promise<DatabaseConnection> =>
  options.url.startsWith('file:') ? connectToFile(options.url) : (await import('./connect/server.ts')).connectToServer(options)

/** The file, or the server without user name and password. */
const placeOf = (url: string): string =>
  url.startsWith('file:') ? url.replace(/^file:(\/\/(?=\/))?/, '') : URL.canParse(url) ? new URL(url).host : 'The database'
