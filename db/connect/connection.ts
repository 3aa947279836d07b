import type { Client } from '@libsql/client'
import type { LibSQLDatabase } from 'drizzle-orm/libsql/driver-core'

/** An open, migrated database. */
export interface Database {
  readonly orm: LibSQLDatabase
  /** Settles when the file holds everything by itself. */
  close(): Promise<void>
}

/** What the repositories and the migrations use of a libSQL client. */
export type DatabaseClient = Pick<Client, 'execute' | 'batch' | 'close'>

/** A connected database, perhaps not migrated yet. */
export interface DatabaseConnection {
  readonly client: DatabaseClient
  readonly orm: LibSQLDatabase
  readonly beforeClose?: () => Promise<void>
}

export const toDatabase = ({ client, orm, beforeClose }: DatabaseConnection): Database => ({
  orm,
  close: async () => {
    await beforeClose?.()
    client.close()
  },
})
