import type { Client } from '@libsql/client'
import { isDamaged } from '../connect/database-error.ts'

/** Changes with the tables: an index of another version is made again from the files. */
const VERSION = 2

const TABLES = `
CREATE TABLE segments (
  pipeline_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  bytes_before INTEGER NOT NULL,
  tracks TEXT NOT NULL,
  format TEXT NOT NULL,
  span INTEGER NOT NULL,
  run TEXT NOT NULL,
  first_dts INTEGER NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (pipeline_id, started_at)
) WITHOUT ROWID;
CREATE INDEX segments_by_time ON segments (started_at, pipeline_id, bytes);
CREATE INDEX segments_by_span ON segments (pipeline_id, span, started_at);
CREATE TABLE spans (
  pipeline_id TEXT NOT NULL,
  span INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  tracks TEXT NOT NULL,
  PRIMARY KEY (pipeline_id, span)
) WITHOUT ROWID;
CREATE INDEX spans_by_start ON spans (started_at);
CREATE VIRTUAL TABLE seen USING rtree_i32(id, south, north, west, east, first_second, last_second, +pipeline_id TEXT);
PRAGMA user_version = ${VERSION};
`

/**
 * Opens the index of recordings, a libSQL file, and makes its tables. False where it is no index of this version: it must then be removed,
 * since everything in it is in the files too. One connection, since the driver waits for each statement.
 */
export const openIndex = async (url: string): Promise<Client | false> => {
  const { createClient } = await import('@libsql/client/sqlite3')
  const client = createClient({ url, concurrency: 1, timeout: 5000 })
  try {
    // With WAL a power failure loses the last rows at most, which are then read from the chains.
    await client.executeMultiple('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000;')
    const { rows } = await client.execute('SELECT count(*) AS tables FROM sqlite_master')
    if (Number(rows[0]?.tables) === 0) await client.executeMultiple(TABLES)
    const version = await client.execute('PRAGMA user_version')
    if (Number(version.rows[0]?.user_version) === VERSION) return client
  } catch (error) {
    client.close()
    if (isDamaged(error)) return false
    throw error
  }
  client.close()
  return false
}
