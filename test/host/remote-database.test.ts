import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { describe, expect, it, onTestFinished } from 'vitest'
import { MIGRATIONS } from '../../db/migrations/migrations.ts'
import { openDatabase } from '../../db/open.ts'
import { createPipelineRepository } from '../../db/pipelines.ts'
import { credential } from '../../db/tables.ts'
import { followSse } from '../helpers/api/sse-client.ts'
import { ENGINE_TOKEN, startEngine } from '../helpers/process/engine-process.ts'
import { startLibsqlServer } from '../helpers/process/libsql-server.ts'
import { startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const resting = (id: string) => ({ id, mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })

describe('a libSQL server', () => {
  it('is migrated once when several processes open it at the same time', async () => {
    const { url } = await startLibsqlServer()
    const databases = await Promise.all(Array.from({ length: 8 }, () => openDatabase({ url })))
    const ledger = await Promise.all(databases.map(({ orm }) => orm.values<[number]>('SELECT count(*) FROM schema_migrations')))
    expect(ledger).toEqual(Array(8).fill([expect.objectContaining({ 0: MIGRATIONS.length })]))
    for (const database of databases) database.close()
  })

  it('can be given as libsql://', async () => {
    const { url } = await startLibsqlServer()
    const database = await openDatabase({ url: `${url.replace('http:', 'libsql:')}?tls=0` })
    expect(await createPipelineRepository(database).list()).toEqual([])
    expect(await database.orm.select().from(credential)).toEqual([])
    database.close()
  })

  it('shares pipelines between several API processes over one engine', async () => {
    const server = await startLibsqlServer()
    const engine = await startEngine()
    const env = { SVC_DATABASE_URL: server.url, SVC_ENGINE_URL: engine.url, SVC_ENGINE_TOKEN: ENGINE_TOKEN }
    const [one, two, three] = await Promise.all([startService({ env }), startService({ env }), startService({ env })])
    expect((await one.request('POST', '/svc/pipeline', resting('shared'))).status).toBe(201)
    expect((await two.request('GET', '/svc/pipeline/shared')).body.state).toBe('ready')
    expect((await two.request('POST', '/svc/pipeline', resting('shared'))).status).toBe(409)
    expect((await three.request('PUT', '/svc/pipeline/shared/play')).body.state).toBe('playing')
    expect((await one.request('GET', '/svc/pipeline/shared')).body.state).toBe('playing')

    // What one of them was answered is what each shows from then on.
    for (let round = 0; round < 5; round += 1) {
      const stopped = (await one.request('PUT', '/svc/pipeline/shared/stop')).body
      const [shown, list] = [await two.request('GET', '/svc/pipeline/shared'), await three.request('GET', '/svc/pipeline')]
      expect([shown.body.runtime.since, list.body[0].runtime.since]).toEqual([stopped.runtime.since, stopped.runtime.since])
      expect((await two.request('PUT', '/svc/pipeline/shared/play')).body.state).toBe('playing')
      expect((await one.request('GET', '/svc/pipeline')).body[0].state).toBe('playing')
    }

    // Of two concurrent creations with the same id one wins.
    const twins = await Promise.all([one, two, three].map((service) => service.request('POST', '/svc/pipeline', resting('twin'))))
    expect(twins.map(({ status }) => status).sort()).toEqual([201, 409, 409])

    await one.request('PUT', '/svc/auth/password', { password: 'correct horse battery' })
    expect((await two.request('GET', '/svc/pipeline')).status).toBe(401)
    const { token } = (await two.request('POST', '/svc/auth/login', { password: 'correct horse battery' })).body
    expect((await three.request('GET', '/svc/pipeline', undefined, { authorization: `Bearer ${token}` })).status).toBe(200)

    // The end of one API process does not affect the streams or the other processes.
    await one.kill()
    const after = await two.request('GET', '/svc/pipeline/shared', undefined, { authorization: `Bearer ${token}` })
    expect(after.body).toMatchObject({ state: 'playing', runtime: { restarts: 0 } })
    await Promise.all([two.stop(), three.stop()])
    await engine.kill()
  })

  it('lets clients of one API process see what another one adds and removes', async () => {
    const server = await startLibsqlServer()
    const engine = await startEngine()
    const env = { SVC_DATABASE_URL: server.url, SVC_ENGINE_URL: engine.url, SVC_ENGINE_TOKEN: ENGINE_TOKEN }
    const [one, two] = await Promise.all([startService({ env }), startService({ env })])
    const everything = followSse(await fetch(`${two.url}/svc/events`))
    await everything.next()
    await one.request('POST', '/svc/pipeline', resting('theirs'))
    expect((await everything.nextOf('pipeline_status')).data).toMatchObject({ id: 'theirs', state: 'ready' })
    const its = followSse(await fetch(`${two.url}/svc/pipeline/theirs/status/events`))
    await its.nextOf('pipeline_status')
    await one.request('DELETE', '/svc/pipeline/theirs')
    expect((await its.nextOf('pipeline_not_found')).data).toEqual({ pipeline_id: 'theirs' })
    expect((await everything.nextOf('pipeline_not_found')).data).toEqual({ pipeline_id: 'theirs' })
    await Promise.all([everything.leave(), its.leave()])
    await Promise.all([one.stop(), two.stop()])
    await engine.kill()
  })

  it('leads to 503 within bounded time while it is down, loses no acknowledged write, and is used again at once', async () => {
    const server = await startLibsqlServer()
    const service = await startService({ env: { SVC_DATABASE_URL: server.url } })
    const created = await service.request('POST', '/svc/pipeline', resting('kept'))
    // An answer 503 has its reason, and the log what the database said.
    expect(created.status, JSON.stringify([created.body, service.log])).toBe(201)
    await server.kill()
    const away = await service.request('GET', '/svc/pipeline')
    expect([away.status, away.body.details.reason]).toEqual([503, 'database'])
    expect((await service.request('GET', '/svc/health')).body).toMatchObject({ status: 'degraded', database: 'unavailable', engine: 'ok' })
    await server.start()
    const back = await until(
      () => service.request('GET', '/svc/pipeline'),
      ({ status }) => status === 200,
    )
    expect(back.body.map(({ id }: { id: string }) => id)).toEqual(['kept'])
    await service.stop()
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
    const miniflare = new Miniflare({
      modules: [
        { type: 'ESModule', path: 'worker.js', contents: readFileSync(resolve(import.meta.dirname, '../../dist/worker.js'), 'utf8') },
      ],
      compatibilityDate: '2026-07-01',
      bindings: {
        SVC_API_KEY: 'the-api-key-of-the-worker',
        SVC_ENGINE_URL: 'http://127.0.0.1:1',
        SVC_ENGINE_TOKEN: ENGINE_TOKEN,
        SVC_LOG_LEVEL: 'error',
        ...bindings,
      },
      ...more,
    })
    onTestFinished(() => miniflare.dispose())
    const { origin } = await miniflare.ready
    expect(await (await fetch(`${origin}/svc/health`)).json()).toMatchObject({ database: 'ok', engine: 'unavailable' })
    expect((await fetch(`${origin}/svc/settings`)).status).toBe(200)
    await server.kill()
    expect(await (await fetch(`${origin}/svc/health`)).json()).toMatchObject({ database: 'unavailable' })
  })
})
