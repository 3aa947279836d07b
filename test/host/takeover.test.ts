import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mediaChildren } from '../helpers/api/host-truth.ts'
import { buildOther } from '../helpers/process/other-build.ts'
import { isAlive, processesWith } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { openReader, type RtspReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }

const create = async (service: Service, id: string): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, ...BALL })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  return body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

const attach = async (url: string, transport: 'tcp' | 'udp'): Promise<RtspReader> => {
  const reader = await openReader(url, { transport })
  onTestFinished(() => reader.close())
  return reader
}

it('says that too few files may be open, where that keeps the data directory from being locked', async () => {
  await expect(startService({ prefix: ['prlimit', '--nofile=24'] })).rejects.toThrow(/too few files may be open; raise the limit/)
})

describe('one data directory', () => {
  it('is served by one of several processes that start at once after a kill', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    await first.kill()
    const starts = await Promise.allSettled(Array.from({ length: 4 }, () => startService({ dataDir })))
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const start of starts) if (start.status === 'rejected') expect(String(start.reason)).toContain('--takeover')
    // The API process and its engine.
    expect(processesWith(`SVC_DATA_DIR=${dataDir}`)).toHaveLength(2)
  })

  it('changes to a new process under load without a gap for readers or a wrong answer', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const urls = [await create(first, 'a'), await create(first, 'b'), await create(first, 'c')]
    const readers = await Promise.all(urls.map((url, at) => attach(url, at === 2 ? 'udp' : 'tcp')))
    const children = mediaChildren(first.enginePid())
    const events = await fetch(`${first.url}/svc/events`)
    const eventsEnd = events.text().then(
      () => 'ended',
      () => 'cut',
    )
    const answers = new Set<number>()
    const hammer = async (path: string, method: string): Promise<void> => {
      for (;;) {
        const answer = await first.request(method, path).catch(() => undefined)
        if (answer === undefined) return
        answers.add(answer.status)
      }
    }
    const hammers = [hammer('/svc/pipeline', 'GET'), hammer('/svc/pipeline/a/play', 'PUT'), hammer('/svc/pipeline/b', 'GET')]
    const second = await startService({ dataDir, args: ['--takeover'] })
    await Promise.all(hammers)
    expect(await eventsEnd).toBe('ended')
    expect([...answers]).toEqual([200])
    await until(
      () => isAlive(first.pid),
      (alive) => !alive,
    )
    const list = (await second.request('GET', '/svc/pipeline')).body as readonly {
      state: string
      runtime: { readers: number; restarts: number }
    }[]
    expect(list.map(({ state, runtime }) => [state, runtime.readers, runtime.restarts])).toEqual(Array(3).fill(['playing', 1, 0]))
    expect(mediaChildren(second.enginePid())).toEqual(children)
    for (const reader of readers) {
      const count = reader.count
      await reader.until(() => reader.count > count + 20)
      expect(sequenceGaps(reader.packets)).toEqual([])
    }
    await second.stop()
    expect(processesWith(`SVC_DATA_DIR=${dataDir}`)).toEqual([])
  })

  it('stays with its process when the next one cannot use the database', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const reader = await attach(await create(first, 'a'), 'tcp')
    const client = createClient({ url: `file:${join(dataDir, 'service.db')}` })
    await client.execute("INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, 'of a newer program', 0)")
    client.close()
    await expect(startService({ dataDir, args: ['--takeover'] })).rejects.toThrow(/version 99.*newer/)
    const seen = reader.packets.length
    await until(
      () => reader.packets.length,
      (packets) => packets > seen,
    )
    expect(sequenceGaps(reader.packets)).toEqual([])
    expect((await first.request('GET', '/svc/health')).body.status).toBe('ok')
    expect(await first.stop()).toBe(0)
  })

  it('stays with its process when the next one may not be open, or lacks its dashboard', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const env = { SVC_HOST: '0.0.0.0', SVC_REQUIRE_PASSWORD: '1' }
    await expect(startService({ dataDir, args: ['--takeover'], env })).rejects.toThrow(/SVC_PASSWORD: no password is stored/)
    const entry = otherBuild('99.1.2')
    rmSync(join(dirname(entry), 'dashboard'), { recursive: true })
    await expect(startService({ dataDir, args: ['--takeover'], entry })).rejects.toThrow(/the dashboard is missing/)
    expect((await first.request('GET', '/svc/health')).body.status).toBe('ok')
    expect(await first.stop()).toBe(0)
  })

  it('stays with its process when another program uses the port of the next one', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const other = createServer((_request, response) => response.end('{}'))
    onTestFinished(() => void other.close())
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const { port } = other.address() as AddressInfo
    const next = startService({ dataDir, args: ['--takeover'], env: { SVC_PORT: String(port) } })
    await expect(next).rejects.toThrow('another program uses this port; set SVC_PORT')
    expect((await first.request('GET', '/svc/health')).body.status).toBe('ok')
    // Its own port is one that it hands over.
    const second = await startService({ dataDir, args: ['--takeover'], env: { SVC_PORT: new URL(first.url).port } })
    expect((await second.request('GET', '/svc/health')).body.status).toBe('ok')
    expect(await second.stop()).toBe(0)
  })

  it('is served by one process after several took it over at once', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const reader = await attach(await create(first, 'uncut'), 'tcp')
    const engine = first.enginePid()
    await Promise.allSettled(Array.from({ length: 3 }, () => startService({ dataDir, args: ['--takeover'] })))
    await until(
      () => processesWith(`SVC_DATA_DIR=${dataDir}`),
      (pids) => pids.length === 2,
    )
    expect(processesWith(`SVC_DATA_DIR=${dataDir}`)).toContain(engine)
    const count = reader.count
    await reader.until(() => reader.count > count + 20)
    expect(sequenceGaps(reader.packets)).toEqual([])
  })
})

const otherBuild = (version: string, protocol?: number): string => {
  const { entry, folder } = buildOther(version, protocol)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return entry
}

describe('a service of another version', () => {
  it('keeps the engine that speaks the same protocol, wherever its program is', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const reader = await attach(await create(first, 'uncut'), 'tcp')
    const engine = first.enginePid()
    const children = mediaChildren(engine)
    const second = await startService({ dataDir, args: ['--takeover'], entry: otherBuild('99.1.2') })
    expect((await second.request('GET', '/svc/version')).body.version).toBe('99.1.2')
    expect(second.enginePid()).toBe(engine)
    expect(mediaChildren(engine)).toEqual(children)
    const count = reader.count
    await reader.until(() => reader.count > count + 20)
    expect(sequenceGaps(reader.packets)).toEqual([])
    // The engine is of the first version; the second ends it all the same.
    expect(await second.stop()).toBe(0)
    expect(processesWith(`SVC_DATA_DIR=${dataDir}`)).toEqual([])
  })

  it('replaces the engine that speaks another protocol, says so, and plays what played', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    await create(first, 'again')
    const engine = first.enginePid()
    const second = await startService({ dataDir, args: ['--takeover'], entry: otherBuild('99.1.2', 99) })
    expect(await second.waitForLog('engine_replaced')).toMatchObject({
      level: 'warn',
      reason: 'another engine protocol',
      protocol: expect.any(Number),
      wanted_protocol: 99,
    })
    expect(isAlive(engine)).toBe(false)
    expect(second.enginePid()).not.toBe(engine)
    await until(
      async () => (await second.request('GET', '/svc/pipeline/again')).body.state,
      (state) => state === 'playing',
    )
    expect(await second.stop()).toBe(0)
  })

  it('kills an engine that hangs, and no stranger that has its pid', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const engine = first.enginePid()
    const file = join(dataDir, 'engine.json')
    const announced = JSON.parse(readFileSync(file, 'utf8'))
    await first.kill()
    process.kill(engine, 'SIGSTOP')
    const second = await startService({ dataDir, entry: otherBuild('99.1.2') })
    expect(isAlive(engine)).toBe(false)
    expect(await second.stop()).toBe(0)

    const stranger = spawn('sleep', ['60'])
    onTestFinished(() => void stranger.kill('SIGKILL'))
    for (const { started, ...rest } of [announced, { ...announced, started: undefined }]) {
      writeFileSync(file, JSON.stringify({ ...rest, started, pid: stranger.pid }))
      const third = await startService({ dataDir })
      expect(await third.stop()).toBe(0)
      expect(isAlive(stranger.pid ?? 0)).toBe(true)
    }
  })
})
