import { describe, expect, it, onTestFinished } from 'vitest'
import { startMarked } from '../helpers/process/marked-run.ts'
import { request, type Service, startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }

/** Plays after its key frame, which comes about a second after the start. */
const SLOW = {
  mode: 'advanced',
  raw_pipeline:
    'videotestsrc is-live=true ! video/x-raw,width=160,height=120,framerate=5/1 ! x264enc tune=zerolatency ! rtph264pay name=pay0',
}

describe('a request that needs the engine', () => {
  it('waits for it while the service starts', async () => {
    const run = await startMarked('node')
    onTestFinished(() => run.clear())
    await until(
      () =>
        request(`${run.url}/svc/healthz`, 'GET').then(
          ({ status }) => status,
          () => 0,
        ),
      (status) => status === 200,
    )
    const [created, listed] = await Promise.all([
      request(`${run.url}/svc/pipeline`, 'POST', { id: 'first', ...BALL }),
      request(`${run.url}/svc/pipeline`, 'GET'),
    ])
    expect([created.status, created.body.state, listed.status]).toEqual([201, 'playing', 200])
    const pid = run.apiPid()
    if (pid === undefined) throw new Error('The API has ended')
    process.kill(pid, 'SIGTERM')
    expect(await run.exited).toBe(0)
  })

  it('succeeds when the engine is killed before, while and after it is asked', async () => {
    const service = await startService()
    for (const id of ['one', 'two', 'held']) {
      expect((await service.request('POST', '/svc/pipeline', { id, ...BALL, on_demand: true })).status).toBe(201)
    }
    for (const waitMs of [0, 20, 150, 400]) {
      await service.request('PUT', '/svc/pipeline/one/stop')
      const killed = service.enginePid()
      const play = service.request('PUT', '/svc/pipeline/one/play')
      const create = service.request('POST', '/svc/pipeline', { id: `new-${waitMs}`, ...SLOW })
      const replace = service.request('PUT', '/svc/pipeline/held', { ...BALL, on_demand: true })
      await new Promise((resolve) => setTimeout(resolve, waitMs))
      process.kill(killed, 'SIGKILL')
      const during = [
        service.request('GET', '/svc/pipeline'),
        service.request('PUT', '/svc/pipeline/two/play'),
        service.request('PUT', '/svc/settings', { start_timeout_seconds: 11 }),
        service.request('PATCH', '/svc/pipeline/held', { geolocation: { latitude: 1, longitude: 2 } }),
      ]
      const answers = await Promise.all([play, create, replace, ...during])
      expect(answers.map(({ status, body }) => [status, body.message])).toEqual([
        [200, undefined],
        [201, undefined],
        ...Array(5).fill([200, undefined]),
      ])
      expect(service.enginePid()).not.toBe(killed)
      // A play that was answered before the kill is repeated by the new engine.
      const { body } = await until(
        () => service.request('GET', '/svc/pipeline/one'),
        (answer) => answer.body.state === 'playing',
      )
      expect(body).toMatchObject({ state: 'playing', runtime: { desired: 'playing' } })
    }
    expect(await service.stop()).toBe(0)
  })

  it('is answered as ever: what plays and is restarted cannot be deleted', async () => {
    const service = await startService()
    expect((await service.request('POST', '/svc/pipeline', { id: 'runs', ...BALL })).status).toBe(201)
    process.kill(service.enginePid(), 'SIGKILL')
    expect((await service.request('DELETE', '/svc/pipeline/runs')).status).toBe(409)
    await service.stop()
  })

  it('answers 503 with Retry-After when the engine does not come, and health does not wait', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', { id: 'one', ...BALL, on_demand: true })
    const killer = keepKilling(service)
    await service.waitForLog('engine_lost')
    const began = performance.now()
    const health = await service.request('GET', '/svc/health')
    expect([health.status, health.body.engine]).toEqual([503, 'unavailable'])
    expect(performance.now() - began).toBeLessThan(1000)
    const answer = await service.request('PUT', '/svc/pipeline/one/play')
    expect(performance.now() - began).toBeLessThan(6500)
    expect(answer).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE', details: { reason: 'engine_unavailable' } } })
    expect(answer.headers.get('retry-after')).toBe('1')
    clearInterval(killer)
    await until(
      () => service.request('PUT', '/svc/pipeline/one/play'),
      ({ status }) => status === 200,
    )
    expect(await service.stop()).toBe(0)
  })

  it('is refused at once when many wait already', async () => {
    const service = await startService()
    const killer = keepKilling(service)
    await service.waitForLog('engine_lost')
    const took = Array.from({ length: 400 }, async () => {
      const began = performance.now()
      const { status } = await service.request('POST', '/svc/pipeline/validate', { id: 'x', ...BALL })
      expect(status).toBe(503)
      return performance.now() - began
    })
    const times = await Promise.all(took)
    clearInterval(killer)
    // The others wait until the five seconds are over.
    expect(times.filter((ms) => ms < 3000).length).toBeGreaterThanOrEqual(400 - 256)
    expect(times.filter((ms) => ms > 3000).length).toBeGreaterThan(100)
    expect(Math.max(...times)).toBeLessThan(6500)
    await service.waitForLog('engine_ready', 2)
    expect(await service.stop()).toBe(0)
  })
})

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
