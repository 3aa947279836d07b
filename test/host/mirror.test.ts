import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { disagreements } from '../helpers/api/host-truth.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { createRandom } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const OUTPUTS = { first: 11_650, last: 11_699 }
const env = { SVC_OUTPUT_PORTS: `${OUTPUTS.first}-${OUTPUTS.last}` }

const createIdle = async (service: Service, id: string): Promise<void> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, ...BALL, on_demand: true })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
}

const read = (service: Service, id: string) => service.request('GET', `/svc/pipeline/${id}`)
const listed = async (service: Service, id: string) =>
  (await service.request('GET', '/svc/pipeline')).body.find((pipeline: { id: string }) => pipeline.id === id)

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

describe('reads from memory', () => {
  it('need no engine for pipelines that do not run, and are the same as those that ask it', async () => {
    const service = await startService({ env })
    await createIdle(service, 'idle')
    await createIdle(service, 'played')
    await service.request('PUT', '/svc/pipeline/played/play')
    const stopped = await service.request('PUT', '/svc/pipeline/played/stop')
    expect(stopped.body.runtime).toMatchObject({ phase: 'idle', fps: 0, bitrate_kbps: 0, readers: 0 })
    // Right after a heartbeat: an engine that is silent for longer is asked.
    const readWithoutEngine = async () => {
      const go = pauseEngine(service)
      const reads = Promise.all([read(service, 'idle'), read(service, 'played'), service.request('GET', '/svc/pipeline')])
      const found = await Promise.race([reads, sleep(1000, undefined)])
      go()
      await reads
      return found
    }
    const found = await until(readWithoutEngine, (answers) => answers !== undefined)
    const [one, played, list] = found ?? []
    if (one === undefined || played === undefined || list === undefined) throw new Error('The engine was needed')
    expect([one.status, played.status, list.status]).toEqual([200, 200, 200])
    expect(list.body.map(({ id }: { id: string }) => id)).toEqual(['idle', 'played'])
    expect(list.body[0]).toEqual(one.body)
    const { last_frame_age_ms: age, ...runtime } = played.body.runtime
    const { last_frame_age_ms: before, ...runtimeBefore } = stopped.body.runtime
    expect(runtime).toEqual(runtimeBefore)
    expect(age).toBeGreaterThanOrEqual(before)
    await service.stop()
  })

  it('are not answered from memory when the engine has hung for a while', async () => {
    const service = await startService({ env })
    await createIdle(service, 'idle')
    const go = pauseEngine(service)
    await sleep(2500)
    const asked = read(service, 'idle')
    expect(await Promise.race([asked, sleep(300, 'asks the engine')])).toBe('asks the engine')
    go()
    expect((await asked).status).toBe(200)
    await service.stop()
  })

  it('show what was answered before: after each play and stop, in one read and in the list', async () => {
    const service = await startService({ env })
    const random = createRandom(11)
    const ids = ['a', 'b', 'c', 'd']
    for (const id of ids) await createIdle(service, id)
    const client = async (id: string): Promise<void> => {
      for (let round = 0; round < 6; round += 1) {
        const played = await service.request('PUT', `/svc/pipeline/${id}/play`)
        expect([played.status, played.body.runtime.phase]).toEqual([200, 'playing'])
        const shown = random.chance(0.5) ? (await read(service, id)).body : await listed(service, id)
        expect(shown.runtime.since >= played.body.runtime.since, JSON.stringify(shown)).toBe(true)
        expect(shown.state).toBe('playing')
        const stopped = await service.request('PUT', `/svc/pipeline/${id}/stop`)
        expect([stopped.status, stopped.body.runtime.phase]).toEqual([200, 'idle'])
        const after = random.chance(0.5) ? (await read(service, id)).body : await listed(service, id)
        expect(after.runtime).toMatchObject({ phase: 'idle', desired: 'ready', since: stopped.body.runtime.since })
        const replaced = await service.request('PUT', `/svc/pipeline/${id}`, {
          ...BALL,
          on_demand: true,
          source: { uri: `test://ball?fps=${10 + round}` },
        })
        expect(replaced.status).toBe(200)
        expect((await read(service, id)).body.source).toEqual(replaced.body.source)
      }
      expect((await service.request('DELETE', `/svc/pipeline/${id}`)).status).toBe(204)
      expect([(await read(service, id)).status, await listed(service, id)]).toEqual([404, undefined])
    }
    await Promise.all(ids.map(client))
    expect(await disagreements(service, OUTPUTS)).toEqual([])
    await service.stop()
  })

  it('show other defaults of the screenshots at once', async () => {
    const service = await startService({ env })
    await createIdle(service, 'idle')
    for (const interval_seconds of [77, 78, 79]) {
      await service.request('PUT', '/svc/settings', { screenshots: { interval_seconds } })
      expect((await read(service, 'idle')).body.screenshots.interval_seconds).toBe(interval_seconds)
    }
    await service.stop()
  })

  it('show nothing of an engine that was killed, and the pipelines of the next one', async () => {
    const service = await startService({ env })
    await createIdle(service, 'idle')
    await service.request('POST', '/svc/pipeline', { id: 'wanted', ...BALL })
    const first = (await read(service, 'wanted')).body
    process.kill(service.enginePid(), 'SIGKILL')
    await service.waitForLog('engine_ready', 2)
    const next = await until(
      () => read(service, 'wanted').then(({ body }) => body),
      ({ runtime }) => runtime?.phase === 'playing' && runtime.since > first.runtime.since,
    )
    expect(next.runtime.restarts).toBe(0)
    expect((await read(service, 'idle')).body).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    expect(
      await until(
        () => disagreements(service, OUTPUTS),
        (found) => found.length === 0,
      ),
    ).toEqual([])
    await service.stop()
  })
})
