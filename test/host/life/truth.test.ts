import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { disagreements, mediaChildren } from '../../helpers/api/host-truth.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { createRandom } from '../../helpers/random.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'
import { changeSettings, command, createPipeline, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const OUTPUTS = { first: 11_600, last: 11_649 }
const start = (env = {}) => startService({ env: { SVC_OUTPUT_PORTS: `${OUTPUTS.first}-${OUTPUTS.last}`, ...env } })
const SMALL = { source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const create = (service: Service, id: string, more: object = {}) => createPipeline(service, id, { ...SMALL, ...more })
const health = (service: Service) => service.request('GET', '/svc/health')
const listed = async (service: Service, id: string) =>
  (await service.request('GET', '/svc/pipeline')).body.find((pipeline: { id: string }) => pipeline.id === id)
const expectAgreement = (service: Service) => expect.poll(() => disagreements(service, OUTPUTS)).toEqual([])

/** Stops the engine's process until the test ends, or the answered function is called. */
const pauseEngine = (service: Service): (() => void) => {
  const pid = service.enginePid()
  process.kill(pid, 'SIGSTOP')
  let paused = true
  const go = (): void => {
    if (paused) process.kill(pid, 'SIGCONT')
    paused = false
  }
  onTestFinished(go)
  return go
}

describe('the state of a pipeline', () => {
  it('is playing with a process and reconnecting without one', async () => {
    const source = await startRtspSource(['--gop-seconds', '0.5'])
    onTestFinished(() => source.stop())
    const service = await start()
    const children = () => mediaChildren(service.enginePid())
    await create(service, 'watched', { source: { uri: source.url('/h264'), latency_ms: 0 }, encoding: { codec: 'h264', quality: 1 } })
    const [victim = expect.fail('The engine has no child')] = children()
    process.kill(victim, 'SIGKILL')
    const replaced = await untilView(service, 'watched', ({ runtime }) => runtime.phase === 'playing' && runtime.restarts >= 1)
    expect([children().length, children().includes(victim)]).toEqual([1, false])
    // The next retry must come after the end of the test.
    await changeSettings(service, { reconnect: { initial_delay_ms: 60_000, max_delay_seconds: 60 } })
    await source.stop()
    const waiting = await untilView(service, 'watched', ({ runtime }) => runtime.next_retry_at !== null)
    expect([waiting.runtime.phase, children()]).toEqual(['reconnecting', []])
    expect(waiting).toMatchObject({ state: 'playing', runtime: { desired: 'playing', restarts: replaced.runtime.restarts + 1 } })
    const stopped = await command(service, 'watched', 'stop')
    expect(stopped.body).toMatchObject({ state: 'ready', runtime: { phase: 'idle', next_retry_at: null } })
    await expectAgreement(service)
  })

  it('stays ready after a play that failed, also after the engine was replaced', async () => {
    const service = await start()
    await changeSettings(service, { start_timeout_seconds: 1 })
    await create(service, 'failing', { on_demand: true, source: { uri: 'rtsp://127.0.0.1:1/away' } })
    expect((await command(service, 'failing', 'play')).status).toBe(504)
    expect(await viewOf(service, 'failing')).toMatchObject({ state: 'ready', runtime: { phase: 'failed', desired: 'ready' } })
    await expectAgreement(service)
    process.kill(service.enginePid(), 'SIGKILL')
    await service.waitForLog('engine_ready', 2)
    expect(await viewOf(service, 'failing')).toMatchObject({ state: 'ready', runtime: { phase: 'idle', desired: 'ready' } })
  })
})

describe('the health of the service', () => {
  it('is degraded from the moment that the engine hangs until its pipelines play again', async () => {
    const service = await start()
    await create(service, 'wanted')
    expect(await health(service)).toMatchObject({ status: 200, body: { status: 'ok', pipelines: { total: 1, playing: 1 } } })
    const lost = service.enginePid()
    process.kill(lost, 'SIGSTOP')
    const down = await until(
      () => health(service),
      ({ status }) => status === 503,
    )
    expect(down.body).toMatchObject({ status: 'degraded', engine: 'unavailable', database: 'ok' })
    await expect.poll(async () => (await health(service)).body).toMatchObject({ status: 'ok', pipelines: { playing: 1 } })
    expect([service.enginePid() === lost, mediaChildren(service.enginePid()).length]).toEqual([false, 1])
    await expectAgreement(service)
  })
})

describe('reads from memory', () => {
  it('need no engine for pipelines that do not run, and are the same as those that ask it', async () => {
    const service = await start()
    for (const id of ['idle', 'played']) await create(service, id, { on_demand: true })
    await command(service, 'played', 'play')
    const stopped = (await command(service, 'played', 'stop')).body
    expect(stopped.runtime).toMatchObject({ phase: 'idle', fps: 0, bitrate_kbps: 0, readers: 0 })
    // Right after a heartbeat: an engine that is silent for longer is asked.
    const readWithoutEngine = async () => {
      const go = pauseEngine(service)
      const reads = Promise.all([viewOf(service, 'idle'), viewOf(service, 'played'), service.request('GET', '/svc/pipeline')])
      const found = await Promise.race([reads, sleep(1000, undefined)])
      go()
      await reads
      return found
    }
    const [one, played, list] = (await until(readWithoutEngine, Boolean)) ?? expect.fail('The engine was needed')
    expect(list.body).toMatchObject([one, { id: 'played' }])
    const { last_frame_age_ms: age, ...runtime } = played.runtime
    expect(stopped.runtime).toMatchObject(runtime)
    expect(age).toBeGreaterThanOrEqual(stopped.runtime.last_frame_age_ms)
  })

  it('are not answered from memory when the engine has hung for a while', async () => {
    const service = await start()
    await create(service, 'idle', { on_demand: true })
    const go = pauseEngine(service)
    await sleep(2500)
    const asked = viewOf(service, 'idle')
    expect(await Promise.race([asked, sleep(300, 'asks the engine')])).toBe('asks the engine')
    go()
    expect((await asked).id).toBe('idle')
  })

  it('show what was answered before: after each play and stop, in one read and in the list, and other defaults', async () => {
    const service = await start()
    const random = createRandom(11)
    const ids = ['a', 'b', 'c', 'd']
    for (const id of ids) await create(service, id, { on_demand: true })
    const client = async (id: string): Promise<void> => {
      const shown = () => (random.chance(0.5) ? viewOf(service, id) : listed(service, id))
      for (let round = 0; round < 4; round += 1) {
        const played = await command(service, id, 'play')
        expect([played.status, played.body.runtime.phase]).toEqual([200, 'playing'])
        const after = await shown()
        expect([after.state, after.runtime.since >= played.body.runtime.since]).toEqual(['playing', true])
        const stopped = await command(service, id, 'stop')
        expect([stopped.status, stopped.body.runtime.phase]).toEqual([200, 'idle'])
        expect((await shown()).runtime).toMatchObject({ phase: 'idle', desired: 'ready', since: stopped.body.runtime.since })
        const body = { mode: 'simple', on_demand: true, source: { uri: `test://ball?fps=${10 + round}` } }
        const replaced = await service.request('PUT', `/svc/pipeline/${id}`, body)
        expect((await viewOf(service, id)).source).toEqual(replaced.body.source)
      }
      expect((await service.request('DELETE', `/svc/pipeline/${id}`)).status).toBe(204)
      expect([(await service.request('GET', `/svc/pipeline/${id}`)).status, await listed(service, id)]).toEqual([404, undefined])
    }
    await Promise.all(ids.map(client))
    expect(await disagreements(service, OUTPUTS)).toEqual([])
    await create(service, 'idle', { on_demand: true })
    for (const interval_seconds of [77, 78, 79]) {
      await changeSettings(service, { screenshots: { interval_seconds } })
      expect((await viewOf(service, 'idle')).screenshots.interval_seconds).toBe(interval_seconds)
    }
  })
})
