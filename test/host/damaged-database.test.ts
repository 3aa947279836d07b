import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { expect, it } from 'vitest'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

/** Overwrites the first page of a table. */
const damage = async (dataDir: string, table: string): Promise<void> => {
  const file = join(dataDir, 'service.db')
  const client = createClient({ url: `file:${file}` })
  const [size, root] = await Promise.all([
    client.execute('PRAGMA page_size'),
    client.execute({ sql: 'SELECT rootpage FROM sqlite_schema WHERE name = ?', args: [table] }),
  ])
  client.close()
  const bytes = Number(size.rows[0]?.page_size)
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(bytes, 0xff), 0, bytes, (Number(root.rows[0]?.rootpage) - 1) * bytes)
  closeSync(descriptor)
}

it.each(['credential', 'settings', 'pipelines'])('health says that the database is unavailable where its %s are damaged', async (table) => {
  const dataDir = temporaryDataDir()
  const before = await startService({ dataDir })
  expect((await before.request('GET', '/svc/health')).body).toMatchObject({ database: 'ok' })
  await before.stop()
  await damage(dataDir, table)
  const service = await startService({ dataDir })
  const health = await service.request('GET', '/svc/health')
  expect([health.status, health.body]).toEqual([503, expect.objectContaining({ status: 'degraded', database: 'unavailable' })])
  expect(service.log.join('\n')).not.toContain('engine_lost')
  await service.stop()
})
