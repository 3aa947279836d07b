import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMarked } from '../../helpers/process/marked-run.ts'
import { childrenOf, isAlive, pidOf, processes } from '../../helpers/process/processes.ts'
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
  it('is replaced without orphans, and its pipelines play again', async () => {
    const service = await startService()
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

  it('is replaced by one that kills what an earlier one started and could not end', async () => {
    const script = `
      import { spawn } from 'node:child_process'
      import { startedByThis } from './engine/sandbox/leftovers.ts'
      const { pid } = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env: startedByThis() })
      process.stdout.write(String(pid))
      process.exit()`
    const left = Number(spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }).stdout)
    expect(isAlive(left)).toBe(true)
    await startService()
    expect(isAlive(left)).toBe(false)
  })
})

describe('a request that needs the engine', () => {
  /** No engine lives long enough to be used. */
  const keepKilling = (service: Service): NodeJS.Timeout => {
    const killer = setInterval(() => {
      try {
        process.kill(service.enginePid(), 'SIGKILL')
      } catch {
        // Not there at this moment.
      }
    }, 5)
    onTestFinished(() => clearInterval(killer))
    return killer
  }

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

  it('is answered 503 within bounded time when the engine does not come, at once when many wait, and health does not wait', async () => {
    const service = await startService()
    await create(service, 'one', { on_demand: true })
    const killer = keepKilling(service)
    await service.waitForLog('engine_lost')
    const timed = async (work: Promise<{ status: number; body: unknown; headers: Headers }>) => {
      const began = performance.now()
      return { answer: await work, ms: performance.now() - began }
    }
    const body = { id: 'x', mode: 'simple', ...SMALL }
    const play = timed(command(service, 'one', 'play'))
    const many = Array.from({ length: 400 }, () => timed(service.request('POST', '/svc/pipeline/validate', body)))
    const health = await timed(service.request('GET', '/svc/health'))
    expect(health.answer).toMatchObject({ status: 503, body: { engine: 'unavailable' } })
    const { answer } = await play
    expect(answer).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } } })
    expect(answer.headers.get('retry-after')).toBe('1')
    const answers = await Promise.all(many)
    clearInterval(killer)
    expect(new Set(answers.map((one) => one.answer.status))).toEqual(new Set([503]))
    // 256 wait until the five seconds are over; a busy host may take a while for the answers to the others.
    const times = answers.map(({ ms }) => ms)
    expect(times.filter((ms) => ms < 3000).length).toBeGreaterThan(50)
    expect(times.filter((ms) => ms > 3000).length).toBeGreaterThan(100)
    expect(Math.max(...times)).toBeLessThan(6500)
    await expect.poll(async () => (await command(service, 'one', 'play')).status).toBe(200)
  })
})

describe('a service that is started again', () => {
  it('plays what is not on-demand, and a failing pipeline keeps no other from that', async () => {
    const first = await startService()
    await create(first, 'stays')
    await create(first, 'was-stopped')
    await command(first, 'was-stopped', 'stop')
    const away = { mode: 'simple', source: { uri: 'rtsp://127.0.0.1:1/away' } }
    await first.request('PUT', '/svc/pipeline/was-stopped', away)
    await create(first, 'demanded', { on_demand: true })
    await first.request('PATCH', '/svc/pipeline/stays', { geolocation: { latitude: 1, longitude: 2 } })
    const { runtime: _, screenshots: __, klv: ___, ...before } = await viewOf(first, 'stays')
    expect(await first.stop()).toBe(0)

    const second = await startService({ dataDir: first.dataDir })
    expect(await untilPhase(second, 'stays', 'playing')).toMatchObject(before)
    const failing = await untilPhase(second, 'was-stopped', 'reconnecting')
    expect(failing).toMatchObject({ state: 'ready', runtime: { desired: 'playing', last_error: { message: expect.any(String) } } })
    expect(await viewOf(second, 'demanded')).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
  })

  it('has written files that only its owner can read, and no secret into its log or the arguments of a process', async () => {
    const service = await startService()
    const mode = (name: string): string => (statSync(`${service.dataDir}/${name}`).mode & 0o777).toString(8)
    expect(['.', 'api-key', 'engine.json', 'service.db'].map(mode)).toEqual(['700', '600', '600', '600'])
    const key = readFileSync(`${service.dataDir}/api-key`, 'utf8').trim()
    const { token } = JSON.parse(readFileSync(`${service.dataDir}/engine.json`, 'utf8')) as { token: string }
    expect(key.length).toBeGreaterThanOrEqual(32)
    for (const secret of [key, token]) expect(service.log.join('\n')).not.toContain(secret)
    expect(processes().some(({ command }) => command.includes(token))).toBe(false)
  })
})
