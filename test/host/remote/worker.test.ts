import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { apiRoutes } from '../../../handlers/app.ts'
import { createTestApi } from '../../helpers/api/api.ts'
import { PASSWORD } from '../../helpers/api/rows.ts'
import { followSse } from '../../helpers/api/sse-client.ts'
import { openVideo } from '../../helpers/live/records.ts'
import { ENGINE_TOKEN, type EngineProcess, startEngine } from '../../helpers/process/engine-process.ts'
import { request } from '../../helpers/process/service.ts'

const SCRIPT = readFileSync(resolve(import.meta.dirname, '../../../dist/worker.js'), 'utf8')
const API_KEY = 'the-api-key-of-the-worker'
const SOURCE = { uri: 'test://ball?width=320&height=240' }
const NO_ENGINE = { SVC_ENGINE_URL: 'http://127.0.0.1:1', SVC_ENGINE_TOKEN: ENGINE_TOKEN }

const startWorker = async (bindings: Record<string, string>): Promise<{ miniflare: Miniflare; origin: string }> => {
  const miniflare = new Miniflare({
    modules: [{ type: 'ESModule', path: 'worker.js', contents: SCRIPT }],
    compatibilityDate: '2026-07-01',
    d1Databases: ['DATABASE'],
    bindings: { SVC_API_KEY: API_KEY, SVC_LOG_LEVEL: 'error', ...bindings },
  })
  return { miniflare, origin: (await miniflare.ready).origin }
}

describe('the worker with a real engine', () => {
  let engine: EngineProcess
  let worker: Awaited<ReturnType<typeof startWorker>>

  const send = (path: string) => fetch(`${worker.origin}${path}`)
  const ask = (line: string, body?: unknown, headers?: Record<string, string>) => {
    const [method = '', path = ''] = line.split(' ')
    return request(`${worker.origin}${path}`, method, body, headers)
  }
  const create = async (id: string, more: object = {}) =>
    expect((await ask('POST /svc/pipeline', { id, mode: 'simple', source: SOURCE, ...more })).status).toBe(201)
  const remove = async (id: string) => {
    expect((await ask(`PUT /svc/pipeline/${id}/stop`)).body.state).toBe('ready')
    expect((await ask(`DELETE /svc/pipeline/${id}`)).status).toBe(204)
  }

  // Below the ephemeral ports and apart from those of the other files.
  const env = { SVC_OUTPUT_PORTS: '11000-11099' }
  beforeAll(async () => {
    engine = await startEngine({ env, dataDir: mkdtempSync(join(tmpdir(), 'svc-worker-')) })
    worker = await startWorker({ SVC_ENGINE_URL: engine.url, SVC_ENGINE_TOKEN: ENGINE_TOKEN })
  })
  afterAll(async () => {
    await worker.miniflare.dispose()
    await engine.kill()
    rmSync(engine.dataDir, { recursive: true, force: true })
  })

  it('answers every route without an internal error', async () => {
    await using api = await createTestApi()
    const routes = apiRoutes(api.deps)
    expect(routes.length).toBeGreaterThan(30)
    const answered = await Promise.all(
      routes.map(async ({ method, path }) => {
        const abort = new AbortController()
        const answer = await fetch(`${worker.origin}${path.replace(':id', 'nobody').replace(':file', 'none.jpg')}`, {
          method,
          signal: abort.signal,
          headers: { 'x-api-key': API_KEY },
          ...(method !== 'GET' && method !== 'DELETE' && { body: '{"no":"such field"}' }),
        })
        const text = answer.headers.get('content-type') === 'text/event-stream' ? '' : await answer.text()
        abort.abort()
        return { route: `${method} ${path}`, status: answer.status, text }
      }),
    )
    expect(answered.filter(({ status, text }) => status === 500 || status === 405 || text.includes('nothing at this address'))).toEqual([])
  })

  it('plays a pipeline, streams its events, serves its screenshots and stops it', async () => {
    await create('edge', { on_demand: true })
    const events = followSse(await send('/svc/pipeline/edge/status/events'))
    expect((await events.nextOf('pipeline_status')).data.state).toBe('ready')
    expect((await ask('PUT /svc/pipeline/edge/play')).body.state).toBe('playing')
    for (let state = ''; state !== 'playing'; ) state = (await events.nextOf('pipeline_status')).data.state
    await events.leave()
    const snapshot = new Uint8Array(await (await send('/svc/pipeline/edge/snapshot')).arrayBuffer())
    expect([...snapshot.subarray(0, 2), ...snapshot.subarray(-2)]).toEqual([0xff, 0xd8, 0xff, 0xd9])
    expect((await ask('PUT /svc/pipeline/edge/screenshots/start', { interval_seconds: 1 })).status).toBe(200)
    const files = async () => (await ask('GET /svc/files/screenshots?pipeline_id=edge')).body
    await expect.poll(async () => (await files()).length).toBeGreaterThan(0)
    const [{ url, size_bytes }] = await files()
    const download = await send(url)
    const { byteLength } = await download.arrayBuffer()
    expect([download.headers.get('content-length'), byteLength]).toEqual([String(size_bytes), size_bytes])
    await remove('edge')
  })

  it('passes live video through, and leaves the engine when its client has left', async () => {
    await create('seen')
    const client = await openVideo(`${worker.origin}/svc/pipeline/seen/video`)
    await client.until((records) => records.length > 60)
    expect(client.records.slice(0, 2).map(({ kind }) => kind)).toEqual([1, 2])
    const readers = async () => (await ask('GET /svc/pipeline/seen')).body.runtime.readers
    expect(await readers()).toBe(1)
    await client.close()
    // At the latest when the client counts as stalled.
    await expect.poll(readers).toBe(0)
    const head = await fetch(`${worker.origin}/svc/pipeline/seen/stream.ts`, { method: 'HEAD' })
    expect(head.headers.get('content-type')).toBe('video/mp2t')
    await expect.poll(readers).toBe(0)
    await remove('seen')
  })

  it('hashes passwords in the engine and limits logins', async () => {
    const login = (password: string) => ask('POST /svc/auth/login', { password })
    expect((await ask('PUT /svc/auth/password', { password: PASSWORD })).body).toEqual({ auth_enabled: true })
    expect((await ask('GET /svc/pipeline')).status).toBe(401)
    const authorization = `Bearer ${(await login(PASSWORD)).body.token}`
    expect((await ask('GET /svc/pipeline', undefined, { authorization })).status).toBe(200)
    const statuses: number[] = []
    while (statuses.length < 10) statuses.push((await login('wrong')).status)
    // The limit is ten a minute, and the tests before have used some of them.
    expect([...new Set(statuses)]).toEqual([400, 429])
    expect((await ask('DELETE /svc/auth/password', undefined, { 'x-api-key': API_KEY })).status).toBe(204)
  })

  it('hands settings and pipelines to an engine that was restarted before using it, also to delete one', async () => {
    await create('kept')
    await create('deleted', { on_demand: true })
    const { host } = new URL(engine.url)
    await engine.kill()
    expect((await ask('GET /svc/pipeline/kept')).status).toBe(503)
    engine = await startEngine({ env, dataDir: engine.dataDir, listen: host })
    await expect.poll(async () => (await ask('DELETE /svc/pipeline/deleted')).status).toBe(204)
    await expect.poll(() => ask('GET /svc/pipeline/kept')).toMatchObject({ status: 200, body: { state: 'playing' } })
    await remove('kept')
  })
})

describe('a worker', () => {
  const healthOf = async (bindings: Record<string, string>) => {
    const { miniflare, origin } = await startWorker(bindings)
    onTestFinished(() => miniflare.dispose())
    return request(`${origin}/svc/health`, 'GET')
  }

  it('answers 503 and names what is missing or wrong in its configuration, without secrets', async () => {
    const details = { reason: 'configuration', mistakes: [expect.stringContaining('SVC_ENGINE_URL')] }
    expect(await healthOf({})).toMatchObject({ status: 503, body: { code: 'SERVICE_UNAVAILABLE', details } })
    const { mistakes } = (await healthOf({ SVC_API_KEY: 'too-short' })).body.details
    expect(mistakes).toEqual(['SVC_API_KEY is not valid: use 16 to 512 printable ASCII characters without blanks'])
  })

  it('reads its license from a variable', async () => {
    const { body } = await healthOf({ ...NO_ENGINE, SVC_LICENSE: 'not a license' })
    expect(body).toMatchObject({ license: 'unreadable', engine: 'unavailable', database: 'ok' })
  })
})

describe('the login limit of a worker', () => {
  it.each<[string, Record<string, string>, string, boolean]>([
    ['is not reset by an address that the client chooses', {}, 'N', true],
    ['is not reset by an address behind that of the proxy', { SVC_TRUST_PROXY: '1' }, 'N, 198.51.100.1', true],
    ['counts by the header that the platform writes, when it is named', { SVC_CLIENT_ADDRESS_HEADER: 'CF-Connecting-IP' }, 'N', false],
  ])('%s', async (_, bindings, forwarded, isLimited) => {
    const { miniflare, origin } = await startWorker({ ...NO_ENGINE, ...bindings })
    onTestFinished(() => miniflare.dispose())
    const statuses: number[] = []
    for (let count = 0; count < 12; count += 1) {
      const address = `192.0.2.${count}`
      const headers = { 'cf-connecting-ip': address, 'x-forwarded-for': forwarded.replace('N', address) }
      statuses.push((await request(`${origin}/svc/auth/login`, 'POST', { password: 'guess' }, headers)).status)
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(isLimited ? statuses.length - statuses.indexOf(429) : 0)
    expect(statuses.includes(429)).toBe(isLimited)
  })
})
