import type { Client } from '@libsql/client'
import type { LibSQLDatabase } from 'drizzle-orm/libsql/driver-core'

/** An open, migrated database. */
export interface Database {
  readonly orm: LibSQLDatabase
  close(): void
}

/** What the repositories and the migrations use of a libSQL client. */
export type DatabaseClient = Pick<Client, 'execute' | 'batch' | 'close'>

/** A connected database, perhaps not migrated yet. */
export interface DatabaseConnection {
  readonly client: DatabaseClient
  readonly orm: LibSQLDatabase
}

export const toDatabase = ({ client, orm }: DatabaseConnection): Database => ({
  orm,
  close: () => client.close(),
})
