import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { agree, type Holdings, holdings, storm, TRIGGER_KEY, trigger } from '../../helpers/api/trigger-storm.ts'
import { type MediaServer, type Publisher, publishWithFfmpeg, startMediaServer } from '../../helpers/media/media-server.ts'
import { childrenOf } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { rounds } from '../../helpers/random.ts'
import { changeSettings, createPipeline, untilPhase } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

let server: MediaServer
let publishers: readonly Publisher[]
const PATHS = ['one', 'two']
// Each test file that names ports has a range of its own.
const RANGE = [11_900, 11_919] as const
const SEEDS = Array.from({ length: rounds(1) }, (_, at) => at + 8)
/** Encoding 1080p begins slowly where four files of tests run at once. */
const PATIENT = { start_timeout_seconds: 30 }
const EMPTY: Holdings = { processes: 0, ports: [], database: [], list: [] }

beforeEach(async () => {
  server = await startMediaServer()
  onTestFinished(() => server.stop())
  publishers = PATHS.map((path) => publishWithFfmpeg(server.publishUrl(path), '160x120', 5))
  onTestFinished(async () => {
    await Promise.all(publishers.map((publisher) => publisher.kill()))
  })
  for (const path of PATHS) await server.line(({ available }) => available === path)
})

const start = (before?: Service): Promise<Service> =>
  startService({
    ...(before && { dataDir: before.dataDir }),
    env: { SVC_API_KEY: TRIGGER_KEY, SVC_MEDIA_SERVER: `127.0.0.1:${server.port}`, SVC_OUTPUT_PORTS: RANGE.join('-') },
  })
const children = (service: Service) => childrenOf(service.enginePid()).map(({ pid }) => pid)

describe('triggered pipelines', () => {
  it('survive the kill of the API process and of the engine, end with the service, and are created again by the next publish', async () => {
    const first = await start()
    await changeSettings(first, PATIENT)
    await createPipeline(first, 'user', { on_demand: true })
    expect((await trigger(first, 'PUT', 'one')).status).toBe(200)
    const playing = children(first)
    await first.kill()
    const second = await start(first)
    expect(children(second)).toEqual(playing)
    expect(await trigger(second, 'PUT', 'one')).toMatchObject({ status: 200, body: { action: 'play' } })
    expect(children(second)).toEqual(playing)
    process.kill(second.enginePid(), 'SIGKILL')
    await second.waitForLog('engine_ready', 2)
    await untilPhase(second, 'one', 'playing')
    expect(await second.stop()).toBe(0)

    const third = await start(first)
    expect(await holdings(third, RANGE)).toMatchObject({ database: ['user'], list: ['user'] })
    expect(children(third)).toEqual([])
    expect((await trigger(third, 'PUT', 'one')).body.action).toBe('play')
    expect((await trigger(third, 'DELETE', 'one')).status).toBe(200)
    expect(await holdings(third, RANGE)).toMatchObject({ processes: 0, database: ['user'], list: ['user'] })
  })

  it.each(SEEDS)('leave processes, ports, database and list consistent after many random calls (seed %i)', async (seed) => {
    const service = await start()
    await changeSettings(service, { ...PATIENT, triggers: { max_ephemeral: 1 } })
    const paths = [...PATHS, 'o/n/e', 'three', 'four', 'five']
    const answers = await storm(service, { seed, calls: 60, clients: 4, paths, pauseMs: 100 })
    for (const answer of Object.keys(answers)) expect(answer).toMatch(/^(PUT (200|409 |500 not_found|503 max_ephemeral)|DELETE 200)/)
    const after = await until(() => holdings(service, RANGE), agree)
    expect(after.list.length).toBeLessThanOrEqual(1)
    for (const path of paths) expect((await trigger(service, 'DELETE', path)).status).toBe(200)
    expect(await holdings(service, RANGE)).toEqual(EMPTY)
    expect((await trigger(service, 'PUT', 'two')).status).toBe(200)
    expect(await holdings(service, RANGE)).toEqual({ processes: 1, ports: [RANGE[0]], database: ['two'], list: ['two'] })
  })
})
