import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../db/open.ts'
import { killProcess } from '../helpers/process/processes.ts'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

/** A data directory on a small file system of its own. Needs root. */
const smallDisk = (): string => {
  const folder = temporaryDataDir()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder])
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]))
  return folder
}

/** Takes what is left, and more as soon as something is freed. */
const fill = (folder: string): (() => void) => {
  let files = 0
  const more = (): void => {
    const { bavail, bsize } = statfsSync(folder)
    if (bavail > 0) writeFileSync(join(folder, `fill-${files++}`), Buffer.alloc(bavail * bsize))
  }
  more()
  const timer = setInterval(more, 5)
  onTestFinished(() => clearInterval(timer))
  return () => {
    clearInterval(timer)
    for (const name of readdirSync(folder)) if (name.startsWith('fill-')) rmSync(join(folder, name))
  }
}

it('a full disk ends no stream for good: the engine starts and is replaced, and says what to do', async () => {
  const dataDir = smallDisk()
  const before = await startService({ dataDir })
  const created = await before.request('POST', '/svc/pipeline', { id: 'gate', mode: 'simple', source: { uri: 'test://ball' } })
  expect(created.status).toBe(201)
  expect(await before.stop()).toBe(0)

  const free = fill(dataDir)
  const service = await startService({ dataDir })
  const phase = async (): Promise<unknown> => (await service.request('GET', '/svc/pipeline/gate')).body.runtime?.phase
  const plays = (answer: unknown): boolean => answer === 'playing'
  await until(phase, plays)
  const { pid } = await service.waitForLog('engine_started')
  expect(await service.waitForLog('engine_not_announced')).toMatchObject({ level: 'error', advice: expect.stringContaining('Free space') })
  killProcess(Number(pid))
  await service.waitForLog('engine_started', 2)
  await until(phase, plays)
  const refused = await service.request('POST', '/svc/pipeline', { id: 'yard', mode: 'simple', source: { uri: 'test://ball' } })
  expect([refused.status, refused.body.message]).toEqual([503, expect.stringContaining('Free space')])
  const health = await service.request('GET', '/svc/health')
  expect([health.status, health.body]).toEqual([503, expect.objectContaining({ status: 'degraded', engine: 'ok', database: 'read_only' })])
  // It stays stopped and plays again, as was asked, also when the engine is replaced.
  for (const action of ['stop', 'play', 'stop']) expect((await service.request('PUT', `/svc/pipeline/gate/${action}`)).status).toBe(200)
  expect(await service.waitForLog('pipeline_desired_not_stored')).toMatchObject({ level: 'warn', id: 'gate' })
  killProcess(Number((await service.waitForLog('engine_started', 2)).pid))
  await service.waitForLog('engine_started', 3)
  await until(phase, (answer) => answer === 'idle')
  expect((await service.request('PUT', '/svc/pipeline/gate/play')).status).toBe(200)
  expect(readdirSync(dataDir).filter((name) => /^(engine\.json\.|system-calls)/.test(name))).toEqual([])

  free()
  await until(() => existsSync(join(dataDir, 'engine.json')), Boolean)
  expect((await service.request('PUT', '/svc/pipeline/gate/stop')).status).toBe(200)
  await until(
    async () => (await service.request('GET', '/svc/health')).body.database,
    (state) => state === 'ok',
  )
  expect(await service.stop()).toBe(0)
}, 60_000)

it('a disk that has become read-only does not keep the service from ending in order', async () => {
  const dataDir = temporaryDataDir()
  const service = await startService({ dataDir })
  execFileSync('mount', ['--bind', dataDir, dataDir])
  onTestFinished(() => void execFileSync('umount', ['--lazy', dataDir]))
  execFileSync('mount', ['-o', 'remount,bind,ro', dataDir])
  expect(await service.stop()).toBe(0)
  const faults = service.log.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ level }) => level !== 'info')
  const unremoved = faults.filter(({ event }) => event === 'engine_still_announced')
  expect(new Set(unremoved.map((line) => line.process))).toEqual(new Set(['api', 'engine']))
  expect(faults.filter(({ event }) => event === 'engine_crashed')).toEqual([])
}, 60_000)

it('a first start on a disk with hardly any space says that it is full, and the next one with space works', async () => {
  const dataDir = smallDisk()
  const file = join(dataDir, 'service.db')
  for (let pages = 0; pages < 20; pages += 1) {
    const { bavail, bsize } = statfsSync(dataDir)
    writeFileSync(join(dataDir, 'fill'), Buffer.alloc((bavail - pages) * bsize))
    const opened = openDatabase({ url: `file:${file}` })
    await opened.then((database) => database.close()).catch((error: Error) => expect(error.message).toContain('its disk is full'))
    rmSync(join(dataDir, 'fill'))
    await (await openDatabase({ url: `file:${file}` })).close()
    for (const name of readdirSync(dataDir)) rmSync(join(dataDir, name))
  }
})
