import type { DatabaseClient } from '../connect/connection.ts'
import { DatabaseError, isBusy, refusesChanges } from '../connect/database-error.ts'
import type { Migration } from './migrations.ts'

const LEDGER =
  'CREATE TABLE IF NOT EXISTS schema_migrations (version INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL, applied_at INTEGER NOT NULL)'

/** The version of the database, 0 for an empty one; writes nothing. Throws DatabaseError when a newer program has written it. */
export const checkVersion = async (client: DatabaseClient, migrations: readonly Migration[]): Promise<number> => {
  const { rows } = await client.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_migrations'")
  if (rows.length === 0) return 0
  const newest = migrations.at(-1)?.version ?? 0
  const version = await currentVersion(client)
  if (version <= newest) return version
  throw new DatabaseError(
    `The database has version ${version}, but this program supports versions up to ${newest}. Use the program that wrote it or a newer one.`,
  )
}

/**
 * Migrates the database to the newest version, one transaction per step. Several processes may run it at once: the primary
 * key of the ledger lets only one of them apply a step. Throws DatabaseError when a newer program has written the database or a
 * step fails, and the error of the driver when nothing can be written, as on a full disk.
 */
export const migrate = async (client: DatabaseClient, migrations: readonly Migration[]): Promise<void> => {
  let version = await checkVersion(client, migrations)
  await client.execute(LEDGER)
  for (const migration of migrations) {
    if (migration.version <= version) continue
    version = await apply(client, migration)
  }
}

const apply = async (client: DatabaseClient, migration: Migration): Promise<number> => {
  const record = {
    sql: 'INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, unixepoch() * 1000)',
    args: [migration.version, migration.name],
  }
  try {
    await client.batch([record, ...statements(migration.sql)], 'write')
    return migration.version
  } catch (cause) {
    const version = await currentVersion(client)
    if (version >= migration.version) return version
    if (refusesChanges(cause) || isBusy(cause)) throw cause
    throw new DatabaseError(`The database could not be migrated to version ${migration.version} (${migration.name}).`, { cause })
  }
}

const currentVersion = async (client: DatabaseClient): Promise<number> => {
  const { rows } = await client.execute('SELECT coalesce(max(version), 0) AS version FROM schema_migrations')
  return Number(rows[0]?.version ?? 0)
}

/** A migration file ends each statement with a semicolon at the end of a line. */
const statements = (sql: string): string[] =>
  sql
    .replace(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '')
