import type { WebhookQueue } from '../../lib/repositories/webhook-queue.ts'
import type { DatabaseClient, DatabaseConnection } from '../connect/connection.ts'
import { isDamaged, query } from '../connect/database-error.ts'
import { connectToFile } from '../connect/file.ts'

/** Changes with the tables: a queue of another version is left behind. */
const VERSION = 1

const TABLES = [
  'CREATE TABLE events (seq INTEGER PRIMARY KEY NOT NULL, id TEXT NOT NULL, lane TEXT NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL)',
  'CREATE TABLE waiting (receiver TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (receiver, seq)) WITHOUT ROWID',
  `PRAGMA user_version = ${VERSION}`,
]

/** One statement a table, whatever the number of rows; each may be repeated. */
const SQL = {
  list: 'SELECT waiting.receiver, events.seq, events.id, events.lane, events.at FROM waiting JOIN events USING (seq) ORDER BY events.seq',
  body: 'SELECT body FROM events WHERE seq = ?',
  add: "INSERT OR REPLACE INTO events (seq, id, lane, at, body) SELECT value->>'seq', value->>'id', value->>'lane', value->>'at', value->>'body' FROM json_each(?)",
  wait: "INSERT OR REPLACE INTO waiting (receiver, seq) SELECT value->>'receiver', value->>'seq' FROM json_each(?)",
  done: "DELETE FROM waiting WHERE (receiver, seq) IN (SELECT value->>'receiver', value->>'seq' FROM json_each(?))",
  finished: 'DELETE FROM events WHERE seq IN (SELECT value FROM json_each(?))',
}

/**
 * Opens the queue of webhooks, a libSQL file of its own: it is written at each event, and neither waits for the database of the service
 * nor lets that wait. False where it is no queue of this version: the file must then be removed.
 */
export const openQueue = async (url: string): Promise<WebhookQueue | false> => {
  let client: DatabaseClient | undefined
  try {
    const connection = await connectToFile(url)
    client = connection.client
    if (await isReady(client)) return queueOf(connection)
  } catch (error) {
    client?.close()
    if (isDamaged(error)) return false
    throw error
  }
  client.close()
  return false
}

const isReady = async (client: DatabaseClient): Promise<boolean> => {
  const { rows } = await client.execute('SELECT count(*) AS tables FROM sqlite_master')
  if (Number(rows[0]?.tables) === 0) await client.batch(TABLES, 'write')
  const version = await client.execute('PRAGMA user_version')
  return Number(version.rows[0]?.user_version) === VERSION
}

const queueOf = ({ client, beforeClose }: DatabaseConnection): WebhookQueue => ({
  list: () =>
    query(async () => {
      const { rows } = await client.execute(SQL.list)
      return rows.map(({ receiver, seq, id, lane, at }) => ({
        receiver: String(receiver),
        seq: Number(seq),
        id: String(id),
        lane: String(lane),
        at: Number(at),
      }))
    }),
  body: (seq) =>
    query(async () => {
      const { rows } = await client.execute({ sql: SQL.body, args: [seq] })
      return rows[0] === undefined ? undefined : String(rows[0].body)
    }),
  write: ({ added, waiting, done, finished }) =>
    query(async () => {
      const changes = [
        [SQL.add, added],
        [SQL.wait, waiting],
        [SQL.done, done],
        [SQL.finished, finished],
      ] as const
      const statements = changes.flatMap(([sql, rows]) => (rows.length > 0 ? [{ sql, args: [JSON.stringify(rows)] }] : []))
      if (statements.length > 0) await client.batch(statements, 'write')
    }),
  close: async () => {
    await beforeClose?.()
    client.close()
  },
})
