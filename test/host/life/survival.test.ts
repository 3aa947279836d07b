import { spawnSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMarked } from '../../helpers/process/marked-run.ts'
import { childrenOf, isAlive, pidOf } from '../../helpers/process/processes.ts'
import { request, type Service, startService } from '../../helpers/process/service.ts'
import { sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { command, createPipeline, read, untilPhase, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const SMALL = { source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const create = (service: Service, id: string, more: object = {}) => createPipeline(service, id, { ...SMALL, ...more })
const expectDead = (...pids: readonly number[]) => expect.poll(() => pids.filter(isAlive)).toEqual([])

describe('an API process that dies', () => {
  it('leaves the streams alone, and the next one takes over the engine', async () => {
    const first = await startService()
    const reader = await read(await create(first, 'goes-on'))
    await create(first, 'stopped')
    await command(first, 'stopped', 'stop')
    const engine = first.enginePid()
    const children = childrenOf(engine).map(({ pid }) => pid)
    await first.kill()

    const second = await startService({ dataDir: first.dataDir })
    expect([second.enginePid(), childrenOf(engine).map(({ pid }) => pid)]).toEqual([engine, children])
    expect(await viewOf(second, 'goes-on')).toMatchObject({ state: 'playing', runtime: { readers: 1, restarts: 0 } })
    expect(await viewOf(second, 'stopped')).toMatchObject({ state: 'ready', runtime: { desired: 'ready' } })
    const before = reader.count
    await reader.until(() => reader.count > before + 20)
    expect(sequenceGaps(reader.packets)).toEqual([])
    expect(await second.stop()).toBe(0)
    await expectDead(engine, ...children)
  })

  it('leaves an engine that is late while that starts: the engine of the next process stays', async () => {
    const run = await startMarked('node')
    onTestFinished(() => run.clear())
    const late = pidOf(await until(() => childrenOf(run.apiPid() ?? -1).find((child) => child.command.endsWith('dist/engine.js')), Boolean))
    process.kill(late, 'SIGSTOP')
    run.signalGroup('SIGKILL')
    await run.exited
    const service = await startService({ dataDir: run.dataDir })
    const engine = service.enginePid()
    process.kill(late, 'SIGCONT')
    await expectDead(late)
    expect(service.enginePid()).toBe(engine)
    await service.stop()
  })

  it('loses no acknowledged write', async () => {
    const first = await startService()
    const acknowledged = new Map<string, number>()
    let going = true
    const write = async (worker: number): Promise<void> => {
      for (let round = 0; going; round += 1) {
        const id = `p-${worker}-${round % 5}`
        const geolocation = { latitude: (round % 90) + worker / 10, longitude: 0 }
        const body = { id, mode: 'simple', ...SMALL, on_demand: true, geolocation }
        const answer =
          round < 5 ? first.request('POST', '/svc/pipeline', body) : first.request('PATCH', `/svc/pipeline/${id}`, { geolocation })
        const { status } = await answer.catch(() => ({ status: 0 }))
        if (status === 0) return
        if (status < 300) acknowledged.set(id, geolocation.latitude)
      }
    }
    const workers = [0, 1, 2].map(write)
    await expect.poll(() => acknowledged.size).toBe(15)
    await first.kill()
    going = false
    await Promise.all(workers)
    const second = await startService({ dataDir: first.dataDir })
    for (const [id, latitude] of acknowledged) {
      // The write in progress at the kill may have been stored too.
      expect([latitude, (latitude + 5) % 90]).toContain((await viewOf(second, id)).geolocation.latitude)
    }
  })
})

describe('an engine that dies', () => {
  it('is replaced without orphans, also those of an earlier one, and its pipelines play again', async () => {
    const script = `
      import { spawn } from 'node:child_process'
      import { startedByThis } from './engine/sandbox/leftovers.ts'
      const { pid } = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env: startedByThis() })
      process.stdout.write(String(pid))
      process.exit()`
    const left = Number(spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }).stdout)
    expect(isAlive(left)).toBe(true)
    const service = await startService()
    expect(isAlive(left)).toBe(false)
    await create(service, 'wanted')
    await create(service, 'on-demand', { on_demand: true })
    await command(service, 'on-demand', 'play')
    await create(service, 'unwanted')
    await command(service, 'unwanted', 'stop')
    const engine = service.enginePid()
    const children = childrenOf(engine).map(({ pid }) => pid)
    expect(children).toHaveLength(2)
    process.kill(engine, 'SIGKILL')
    // What plays and is restarted cannot be deleted, as ever.
    expect((await service.request('DELETE', '/svc/pipeline/wanted')).status).toBe(409)
    await expectDead(...children)
    await service.waitForLog('engine_ready', 2)
    for (const [id, state] of Object.entries({ wanted: 'playing', 'on-demand': 'playing', unwanted: 'ready' })) {
      expect((await untilView(service, id, (view) => view.state === state)).runtime.desired).toBe(state)
    }
    expect(childrenOf(service.enginePid())).toHaveLength(2)
  })
})

describe('a request that needs the engine', () => {
  it('waits for it while the service starts', async () => {
    const run = await startMarked('node')
    onTestFinished(() => run.clear())
    const ask = (method: string, path: string, body?: unknown) => request(`${run.url}${path}`, method, body)
    await expect.poll(async () => (await ask('GET', '/svc/healthz')).status).toBe(200)
    const create = ask('POST', '/svc/pipeline', { id: 'first', mode: 'simple', ...SMALL })
    const [created, listed] = await Promise.all([create, ask('GET', '/svc/pipeline')])
    expect([created.status, created.body.state, listed.status]).toEqual([201, 'playing', 200])
  })

  it('succeeds when the engine is killed before, while and after it is asked', async () => {
    // Plays after its key frame, which comes about a second after the start.
    const raw_pipeline =
      'videotestsrc is-live=true ! video/x-raw,width=160,height=120,framerate=5/1 ! x264enc tune=zerolatency ! rtph264pay name=pay0'
    const service = await startService()
    for (const id of ['one', 'two', 'held']) await create(service, id, { on_demand: true })
    for (const waitMs of [0, 20, 150, 400]) {
      await command(service, 'one', 'stop')
      const killed = service.enginePid()
      const asked = [
        command(service, 'one', 'play'),
        service.request('POST', '/svc/pipeline', { id: `new-${waitMs}`, mode: 'advanced', raw_pipeline }),
        service.request('PUT', '/svc/pipeline/held', { mode: 'simple', ...SMALL, on_demand: true }),
      ]
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      process.kill(killed, 'SIGKILL')
      asked.push(
        service.request('GET', '/svc/pipeline'),
        command(service, 'two', 'play'),
        service.request('PUT', '/svc/settings', { start_timeout_seconds: 11 }),
        service.request('PATCH', '/svc/pipeline/held', { geolocation: { latitude: 1, longitude: 2 } }),
      )
      const answers = (await Promise.all(asked)).map(({ status, body }) => [status, body.message])
      expect(answers).toEqual([200, 201, 200, 200, 200, 200, 200].map((status) => [status, undefined]))
      expect(service.enginePid()).not.toBe(killed)
      // A play that was answered before the kill is repeated by the new engine.
      expect((await untilPhase(service, 'one', 'playing')).runtime.desired).toBe('playing')
    }
  })
})

describe('a service that is started again', () => {
  it('plays what was not stopped and is not on-demand, and a failing pipeline keeps no other from that', async () => {
    const first = await startService()
    await create(first, 'stays')
    await create(first, 'was-stopped')
    await command(first, 'was-stopped', 'stop')
    const away = { id: 'failing', mode: 'simple', source: { uri: 'rtsp://127.0.0.1:1/away' } }
    expect((await first.request('POST', '/svc/pipeline?start=background', away)).status).toBe(201)
    await create(first, 'demanded', { on_demand: true })
    await first.request('PATCH', '/svc/pipeline/stays', { geolocation: { latitude: 1, longitude: 2 } })
    const { runtime: _, screenshots: __, klv: ___, ...before } = await viewOf(first, 'stays')
    expect(await first.stop()).toBe(0)

    const second = await startService({ dataDir: first.dataDir })
    expect(await untilPhase(second, 'stays', 'playing')).toMatchObject(before)
    const failing = await untilPhase(second, 'failing', 'reconnecting')
    expect(failing).toMatchObject({ state: 'ready', runtime: { desired: 'playing', last_error: { message: expect.any(String) } } })
    for (const id of ['demanded', 'was-stopped'])
      expect(await viewOf(second, id)).toMatchObject({ state: 'ready', runtime: { phase: 'idle', desired: 'ready' } })
  })
})
