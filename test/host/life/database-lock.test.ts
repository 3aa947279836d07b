import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { expect, it } from 'vitest'
import { runProgram } from '../../helpers/process/command.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { watchLoop } from '../../helpers/process/watch-loop.ts'
import { command, createPipeline, untilView, viewOf } from '../../helpers/service/pipelines.ts'

const COMMAND = resolve(import.meta.dirname, '../../../dist/cli.js')
const SMALL = { source: { uri: 'test://ball?width=160&height=120&fps=15&klv=1' } }
const BUSY = { status: 503, body: { code: 'SERVICE_UNAVAILABLE', details: { reason: 'database_busy' } } }

it('a lock of another program delays the requests that store something, and nothing else', async () => {
  const loop = watchLoop(temporaryDataDir())
  const service = await startService({ env: loop.env })
  const file = join(service.dataDir, 'service.db')
  await createPipeline(service, 'flight', { ...SMALL, klv_config: { auto_extract_geolocation: true } })
  await createPipeline(service, 'gate', SMALL)
  await command(service, 'flight', 'klv/start')
  const backup = createClient({ url: pathToFileURL(file).href })
  const lock = await backup.transaction('write')
  await loop.longest(service.pid)
  const begun = performance.now()

  const refused = [
    service.request('POST', '/svc/pipeline', { id: 'new', ...SMALL }),
    command(service, 'gate', 'stop'),
    service.request('PATCH', '/svc/pipeline/gate', { geolocation: { latitude: 1, longitude: 2 } }),
    command(service, 'flight', 'screenshots/start'),
  ]
  let slowest = 0
  const reads = (async () => {
    while (performance.now() - begun < 5000) {
      const asked = performance.now()
      expect((await service.request('GET', '/svc/pipeline')).status).toBe(200)
      slowest = Math.max(slowest, performance.now() - asked)
    }
  })()
  expect(await Promise.all(refused)).toEqual(
    refused.map(() => expect.objectContaining({ ...BUSY, body: expect.objectContaining(BUSY.body) })),
  )
  expect(performance.now() - begun).toBeLessThan(9000)
  await reads
  expect(await service.request('GET', '/svc/health')).toMatchObject({ status: 200, body: { database: 'busy' } })
  const view = await viewOf(service, 'gate')
  expect(view).toMatchObject({ state: 'playing', runtime: { desired: 'playing' }, geolocation: null })
  expect(await viewOf(service, 'flight')).toMatchObject({ screenshots: { state: 'stopped' } })
  const blocked = await loop.longest(service.pid)
  // Both are below 50 ms on a host that has nothing else to do; a statement that waits itself would block for 5 s.
  expect(Math.max(blocked, slowest)).toBeLessThan(3000)

  await lock.rollback()
  backup.close()
  expect((await command(service, 'gate', 'stop')).status).toBe(200)
  expect((await service.request('GET', '/svc/pipeline/new')).status).toBe(404)
  await untilView(service, 'flight', ({ geolocation }) => geolocation !== null)
  await service.stop()
  const again = await startService({ dataDir: service.dataDir })
  await untilView(again, 'flight', ({ geolocation, state }) => geolocation !== null && state === 'playing')
  expect(await viewOf(again, 'gate')).toMatchObject({ runtime: { phase: 'idle', desired: 'ready' } })
})

it('a second service on the same database file does not start', async () => {
  const first = await startService()
  const SVC_DATABASE_URL = `file:${join(first.dataDir, 'service.db')}`
  const env = { SVC_PORT: '0', SVC_DATA_DIR: temporaryDataDir(), SVC_DATABASE_URL }
  const refused = { status: 69, stderr: expect.stringContaining('another service process uses the database') }
  expect(await runProgram(process.execPath, [COMMAND, 'serve'], { env })).toMatchObject(refused)
  await first.kill()
  const { status } = await (await startService({ dataDir: first.dataDir })).request('GET', '/svc/healthz')
  expect(status).toBe(200)
})
