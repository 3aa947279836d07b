import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MIGRATIONS } from '../../../db/migrations/migrations.ts'
import { openDatabase } from '../../../db/open.ts'
import { createPipelineRepository } from '../../../db/pipelines.ts'
import { credential } from '../../../db/tables.ts'
import { followSse } from '../../helpers/api/sse-client.ts'
import { ENGINE_TOKEN, startEngine } from '../../helpers/process/engine-process.ts'
import { startLibsqlServer } from '../../helpers/process/libsql-server.ts'
import { type Service, startService } from '../../helpers/process/service.ts'

const PASSWORD = 'correct horse battery'
const SCRIPT = resolve(import.meta.dirname, '../../../dist/worker.js')
const resting = (id: string) => ({ id, mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })

/** API processes over one engine and one database. */
const startSeveral = async (count: number): Promise<readonly Service[]> => {
  const [server, engine] = [await startLibsqlServer(), await startEngine()]
  onTestFinished(() => engine.kill())
  const env = { SVC_DATABASE_URL: server.url, SVC_ENGINE_URL: engine.url, SVC_ENGINE_TOKEN: ENGINE_TOKEN }
  return Promise.all(Array.from({ length: count }, () => startService({ env })))
}
const follow = async ({ url }: Service, path: string, headers = {}) => {
  const client = followSse(await fetch(`${url}${path}`, { headers }))
  await client.next()
  return client
}

describe('a libSQL server', () => {
  it('is migrated once when several processes open it at the same time, also as libsql://', async () => {
    const { url } = await startLibsqlServer()
    const urls = Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? url : `${url.replace('http:', 'libsql:')}?tls=0`))
    const databases = await Promise.all(urls.map((each) => openDatabase({ url: each })))
    const ledger = await Promise.all(databases.map(({ orm }) => orm.values<[number]>('SELECT count(*) FROM schema_migrations')))
    expect(ledger).toEqual(Array(8).fill([expect.objectContaining({ 0: MIGRATIONS.length })]))
    for (const database of databases) {
      expect([await createPipelineRepository(database).list(), await database.orm.select().from(credential)]).toEqual([[], []])
      database.close()
    }
  })

  it('shares pipelines, passwords and sessions between several API processes over one engine', async () => {
    const [one, two] = (await startSeveral(2)) as [Service, Service]
    const shared = async (service: Service, headers = {}) => (await service.request('GET', '/svc/pipeline/shared', undefined, headers)).body
    expect((await one.request('POST', '/svc/pipeline', resting('shared'))).status).toBe(201)
    expect((await shared(two)).state).toBe('ready')
    expect((await two.request('POST', '/svc/pipeline', resting('shared'))).status).toBe(409)
    // What one of them was answered is what each shows from then on.
    for (let round = 0; round < 5; round += 1) {
      expect((await two.request('PUT', '/svc/pipeline/shared/play')).body.state).toBe('playing')
      expect((await one.request('GET', '/svc/pipeline')).body[0].state).toBe('playing')
      const stopped = (await one.request('PUT', '/svc/pipeline/shared/stop')).body
      const list = await two.request('GET', '/svc/pipeline')
      expect([(await shared(two)).runtime.since, list.body[0].runtime.since]).toEqual(Array(2).fill(stopped.runtime.since))
    }
    await two.request('PUT', '/svc/pipeline/shared/play')
    // Of two concurrent creations with the same id one wins.
    const twins = await Promise.all([one, two].map((service) => service.request('POST', '/svc/pipeline', resting('twin'))))
    expect(twins.map(({ status }) => status).sort()).toEqual([201, 409])

    await one.request('PUT', '/svc/auth/password', { password: PASSWORD })
    expect((await two.request('GET', '/svc/pipeline')).status).toBe(401)
    const { token } = (await one.request('POST', '/svc/auth/login', { password: PASSWORD })).body
    // The end of one API process does not affect the streams or the other processes.
    await one.kill()
    expect(await shared(two, { authorization: `Bearer ${token}` })).toMatchObject({ state: 'playing', runtime: { restarts: 0 } })
  })

  it('lets clients of one API process see what another one adds and removes, and ends their streams with their session', async () => {
    const [one, two] = (await startSeveral(2)) as [Service, Service]
    const everything = await follow(two, '/svc/events')
    await one.request('POST', '/svc/pipeline', resting('theirs'))
    expect((await everything.nextOf('pipeline_status')).data).toMatchObject({ id: 'theirs', state: 'ready' })
    const its = await follow(two, '/svc/pipeline/theirs/status/events')
    await its.nextOf('pipeline_status')
    await one.request('DELETE', '/svc/pipeline/theirs')
    for (const client of [its, everything]) expect((await client.nextOf('pipeline_not_found')).data).toEqual({ pipeline_id: 'theirs' })
    await its.leave()

    const expectEnds = async (client: { rest: () => Promise<unknown> }) => {
      const began = performance.now()
      await client.rest()
      expect(performance.now() - began).toBeLessThan(5000)
    }
    await one.request('PUT', '/svc/auth/password', { password: PASSWORD })
    await expectEnds(everything)
    const headers = { authorization: `Bearer ${(await one.request('POST', '/svc/auth/login', { password: PASSWORD })).body.token}` }
    const session = await follow(two, '/svc/events', headers)
    await one.request('POST', '/svc/auth/logout', undefined, headers)
    await expectEnds(session)
  })

  it('leads to 503 within bounded time while it is down, loses no acknowledged write, and is used again at once', async () => {
    const server = await startLibsqlServer()
    const service = await startService({ env: { SVC_DATABASE_URL: server.url } })
    const created = await service.request('POST', '/svc/pipeline', resting('kept'))
    // An answer 503 has its reason, and the log what the database said.
    expect(created.status, JSON.stringify([created.body, service.log])).toBe(201)
    await server.kill()
    expect(await service.request('GET', '/svc/pipeline')).toMatchObject({ status: 503, body: { details: { reason: 'database' } } })
    expect((await service.request('GET', '/svc/health')).body).toMatchObject({ status: 'degraded', database: 'unavailable', engine: 'ok' })
    await server.start()
    await expect.poll(() => service.request('GET', '/svc/pipeline')).toMatchObject({ status: 200, body: [{ id: 'kept' }] })
  })

  it.each([
    ['by its address', (url: string) => ({ bindings: { SVC_DATABASE_URL: url } })],
    [
      'by a service binding',
      (url: string) => ({ serviceBindings: { DATABASE_SERVER: { external: { address: new URL(url).host, http: {} } } } }),
    ],
  ])('serves a worker that reaches it %s', async (_how, options) => {
    const server = await startLibsqlServer()
    const { bindings, ...more } = { bindings: {}, ...options(server.url) }
    const engine = { SVC_ENGINE_URL: 'http://127.0.0.1:1', SVC_ENGINE_TOKEN: ENGINE_TOKEN }
    const miniflare = new Miniflare({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: readFileSync(SCRIPT, 'utf8') }],
      compatibilityDate: '2026-07-01',
      bindings: { SVC_API_KEY: 'the-api-key-of-the-worker', SVC_LOG_LEVEL: 'error', ...engine, ...bindings },
      ...more,
    })
    onTestFinished(() => miniflare.dispose())
    const { origin } = await miniflare.ready
    const health = async () => (await fetch(`${origin}/svc/health`)).json()
    expect(await health()).toMatchObject({ database: 'ok', engine: 'unavailable' })
    expect((await fetch(`${origin}/svc/settings`)).status).toBe(200)
    await server.kill()
    expect(await health()).toMatchObject({ database: 'unavailable' })
  })
})
