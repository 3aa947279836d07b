import { describe, expect, it, onTestFinished } from 'vitest'
import { disagreements, mediaChildren, shownPipelines } from '../helpers/api/host-truth.ts'
import { processesWith } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { createRandom } from '../helpers/random.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const OUTPUTS = { first: 11_600, last: 11_649 }
const env = { SVC_OUTPUT_PORTS: `${OUTPUTS.first}-${OUTPUTS.last}` }

const create = async (service: Service, id: string, more: Record<string, unknown> = {}): Promise<void> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, ...BALL, ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
}

const view = async (service: Service, id: string) => (await service.request('GET', `/svc/pipeline/${id}`)).body
const health = (service: Service) => service.request('GET', '/svc/health')

const agree = (service: Service): Promise<readonly string[]> =>
  until(
    () => disagreements(service, OUTPUTS),
    (found) => found.length === 0,
  )

describe('the state of a pipeline', () => {
  it('is playing with a process and reconnecting without one', async () => {
    const source = await startRtspSource(['--gop-seconds', '0.5'])
    onTestFinished(() => source.stop())
    const service = await startService({ env: { ...env, SVC_RTSP_READER: 'child' } })
    await create(service, 'watched', { source: { uri: source.url('/h264'), latency_ms: 0 } })
    const [victim] = mediaChildren(service.enginePid())
    if (victim === undefined) throw new Error('The engine has no child')
    process.kill(victim, 'SIGKILL')
    const replaced = await until(
      () => view(service, 'watched'),
      ({ runtime }) => runtime.phase === 'playing' && runtime.restarts >= 1,
    )
    expect(mediaChildren(service.enginePid())).toHaveLength(1)
    expect(mediaChildren(service.enginePid())).not.toContain(victim)
    // The next retry must come after the end of the test.
    await service.request('PUT', '/svc/settings', { reconnect: { initial_delay_ms: 60_000, max_delay_seconds: 60 } })
    await source.stop()
    const waiting = await until(
      () => view(service, 'watched'),
      ({ runtime }) => runtime.phase === 'reconnecting' && runtime.next_retry_at !== null,
    )
    expect(mediaChildren(service.enginePid())).toEqual([])
    expect(waiting).toMatchObject({ state: 'playing', runtime: { desired: 'playing', restarts: replaced.runtime.restarts + 1 } })
    const stopped = await service.request('PUT', '/svc/pipeline/watched/stop')
    expect(stopped.body).toMatchObject({ state: 'ready', runtime: { phase: 'idle', next_retry_at: null } })
    expect(await agree(service)).toEqual([])
    await service.stop()
  })

  it('agrees with processes, ports and database after concurrent plays and stops', async () => {
    const service = await startService({ env })
    const ids = ['a', 'b', 'c']
    for (const id of ids) await create(service, id, { on_demand: id === 'c' })
    const random = createRandom(3)
    for (let round = 0; round < 8; round += 1) {
      const asked = Array.from({ length: 6 }, () =>
        service.request('PUT', `/svc/pipeline/${random.pick(ids)}/${random.chance(0.5) ? 'play' : 'stop'}`),
      )
      for (const { status } of await Promise.all(asked)) expect([200, 409]).toContain(status)
      expect(await disagreements(service, OUTPUTS)).toEqual([])
    }
    await service.stop()
  })

  it('stays ready after a play that failed, also after the engine was replaced', async () => {
    const service = await startService({ env })
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 1 })
    await create(service, 'failing', { on_demand: true, source: { uri: 'rtsp://127.0.0.1:1/away' } })
    expect((await service.request('PUT', '/svc/pipeline/failing/play')).status).toBe(504)
    expect(await view(service, 'failing')).toMatchObject({ state: 'ready', runtime: { phase: 'failed', desired: 'ready' } })
    expect(await agree(service)).toEqual([])
    process.kill(service.enginePid(), 'SIGKILL')
    await service.waitForLog('engine_ready', 2)
    expect(await view(service, 'failing')).toMatchObject({ state: 'ready', runtime: { phase: 'idle', desired: 'ready' } })
    await service.stop()
  })
})

describe('the health of the service', () => {
  it('is degraded from the death of the engine until its pipelines play again', async () => {
    const service = await startService({ env })
    await create(service, 'wanted')
    expect(await health(service)).toMatchObject({ status: 200, body: { status: 'ok', pipelines: { total: 1, playing: 1 } } })
    process.kill(service.enginePid(), 'SIGKILL')
    const down = await until(
      () => health(service),
      ({ status }) => status === 503,
    )
    expect(down.body).toMatchObject({ status: 'degraded', engine: 'unavailable', database: 'ok' })
    await until(
      () => health(service),
      ({ status, body }) => status === 200 && body.pipelines.playing === 1,
    )
    expect(mediaChildren(service.enginePid())).toHaveLength(1)
    await service.stop()
  })

  it('is degraded while the engine hangs, until it is replaced', async () => {
    const service = await startService({ env })
    await create(service, 'wanted')
    const hanging = service.enginePid()
    process.kill(hanging, 'SIGSTOP')
    onTestFinished(() => {
      for (const pid of processesWith(`SVC_DATA_DIR=${service.dataDir}`)) if (pid === hanging) process.kill(pid, 'SIGKILL')
    })
    const down = await until(
      () => health(service),
      ({ status }) => status === 503,
    )
    expect(down.body).toMatchObject({ status: 'degraded', engine: 'unavailable' })
    await service.waitForLog('engine_ready', 2)
    expect(service.enginePid()).not.toBe(hanging)
    await until(
      () => shownPipelines(service).catch(() => []),
      (shown) => shown.length === 1 && shown[0]?.runtime.phase === 'playing',
    )
    await agree(service)
    await service.stop()
  })
})
