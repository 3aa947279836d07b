import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { mediaChildren } from '../../helpers/api/host-truth.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { buildOther } from '../../helpers/process/other-build.ts'
import { isAlive, processesWith } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { type RtspReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { createPipeline, read, untilPhase } from '../../helpers/service/pipelines.ts'

const create = (service: Service, id: string) => createPipeline(service, id, { source: { uri: 'test://ball?width=160&height=120&fps=15' } })
const takeOver = ({ dataDir }: Service, more: object = {}) => startService({ dataDir, args: ['--takeover'], ...more })
const processesOf = ({ dataDir }: Service) => processesWith(`SVC_DATA_DIR=${dataDir}`)
const expectHealthy = async (service: Service) => expect((await service.request('GET', '/svc/health')).body.status).toBe('ok')
const expectNoGap = async (reader: RtspReader) => {
  const { count } = reader
  await reader.until(() => reader.count > count + 20)
  expect(sequenceGaps(reader.packets)).toEqual([])
}
const otherBuild = (version: string, protocol?: number): string => {
  const { entry, folder } = buildOther(version, protocol)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return entry
}

it('says that too few files may be open, where that keeps the data directory from being locked', async () => {
  await expect(startService({ prefix: ['prlimit', '--nofile=24'] })).rejects.toThrow(/too few files may be open; raise the limit/)
})

describe('one data directory', () => {
  it('is served by one of several processes that start at once after a kill', async () => {
    const first = await startService()
    const { dataDir } = first
    await first.kill()
    const starts = await Promise.allSettled(Array.from({ length: 3 }, () => startService({ dataDir })))
    const refused = starts.flatMap((start) => (start.status === 'rejected' ? [String(start.reason)] : []))
    expect(refused).toEqual(Array(2).fill(expect.stringContaining('--takeover')))
    // The API process and its engine.
    expect(processesOf(first)).toHaveLength(2)
  })

  it('changes to a new process under load without a gap for readers or a wrong answer', async () => {
    const first = await startService()
    const urls = [await create(first, 'a'), await create(first, 'b')]
    const readers = await Promise.all(urls.map((url, at) => read(url, { transport: at === 0 ? 'tcp' : 'udp' })))
    const children = mediaChildren(first.enginePid())
    const events = await fetch(`${first.url}/svc/events`)
    const eventsEnd = events.text().then(
      () => 'ended',
      () => 'cut',
    )
    const statuses = new Set<number>()
    const hammer = async (path: string, method: string): Promise<void> => {
      for (;;) {
        const answer = await first.request(method, path).catch(() => undefined)
        if (answer === undefined) return
        statuses.add(answer.status)
      }
    }
    const hammers = [hammer('/svc/pipeline', 'GET'), hammer('/svc/pipeline/a/play', 'PUT'), hammer('/svc/pipeline/b', 'GET')]
    const second = await takeOver(first)
    await Promise.all(hammers)
    expect([await eventsEnd, [...statuses]]).toEqual(['ended', [200]])
    await expect.poll(() => isAlive(first.pid)).toBe(false)
    const playing = { state: 'playing', runtime: { readers: 1, restarts: 0 } }
    expect((await second.request('GET', '/svc/pipeline')).body).toMatchObject([playing, playing])
    expect(mediaChildren(second.enginePid())).toEqual(children)
    for (const reader of readers) await expectNoGap(reader)
    expect(await second.stop()).toBe(0)
    expect(processesOf(first)).toEqual([])
  })

  it('stays with its process when the next one cannot serve', async () => {
    const first = await startService()
    const reader = await read(await create(first, 'a'))
    // Without --takeover.
    await expect(startService({ dataDir: first.dataDir })).rejects.toThrow('--takeover')
    // It may not be open.
    const exposed = { SVC_HOST: '0.0.0.0', SVC_REQUIRE_PASSWORD: '1' }
    await expect(takeOver(first, { env: exposed })).rejects.toThrow(/SVC_PASSWORD: no password is stored/)
    const entry = otherBuild('99.1.2')
    rmSync(join(dirname(entry), 'dashboard'), { recursive: true })
    await expect(takeOver(first, { entry })).rejects.toThrow(/the dashboard is missing/)
    const other = await startHttpServer((_request, response) => response.end('{}'))
    const taken = { SVC_PORT: new URL(other.url).port }
    await expect(takeOver(first, { env: taken })).rejects.toThrow('another program uses this port; set SVC_PORT')
    // Its own port is one that it hands over.
    const second = await takeOver(first, { env: { SVC_PORT: new URL(first.url).port } })
    await expectHealthy(second)
    const client = createClient({ url: `file:${join(first.dataDir, 'service.db')}` })
    await client.execute("INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, 'of a newer program', 0)")
    client.close()
    await expect(takeOver(second)).rejects.toThrow(/version 99.*newer/)
    await expectHealthy(second)
    await expectNoGap(reader)
  })

  it('is served by one process after several took it over at once', async () => {
    const first = await startService()
    const reader = await read(await create(first, 'uncut'))
    const engine = first.enginePid()
    await Promise.allSettled(Array.from({ length: 3 }, () => takeOver(first)))
    await expect.poll(() => processesOf(first)).toHaveLength(2)
    expect(processesOf(first)).toContain(engine)
    await expectNoGap(reader)
  })
})

describe('a service of another version', () => {
  it('keeps the engine that speaks the same protocol, wherever its program is', async () => {
    const first = await startService()
    const reader = await read(await create(first, 'uncut'))
    const engine = first.enginePid()
    const children = mediaChildren(engine)
    const second = await takeOver(first, { entry: otherBuild('99.1.2') })
    expect((await second.request('GET', '/svc/version')).body.version).toBe('99.1.2')
    expect([second.enginePid(), mediaChildren(engine)]).toEqual([engine, children])
    await expectNoGap(reader)
    // The engine is of the first version; the second ends it all the same.
    expect(await second.stop()).toBe(0)
    expect(processesOf(first)).toEqual([])
  })

  it('replaces the engine that speaks another protocol, says so, and plays what played', async () => {
    const first = await startService()
    await create(first, 'again')
    const engine = first.enginePid()
    const second = await takeOver(first, { entry: otherBuild('99.1.2', 99) })
    const line = { level: 'warn', reason: 'another engine protocol', protocol: expect.any(Number), wanted_protocol: 99 }
    expect(await second.waitForLog('engine_replaced')).toMatchObject(line)
    expect([isAlive(engine), second.enginePid() === engine]).toEqual([false, false])
    await untilPhase(second, 'again', 'playing')
  })

  it('kills an engine that hangs, and no stranger that has its pid', async () => {
    const first = await startService()
    const { dataDir } = first
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
    for (const started of [announced.started, undefined]) {
      writeFileSync(file, JSON.stringify({ ...announced, started, pid: stranger.pid }))
      expect(await (await startService({ dataDir })).stop()).toBe(0)
      expect(isAlive(stranger.pid ?? 0)).toBe(true)
    }
  })
})
