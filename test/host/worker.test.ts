import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { apiRoutes } from '../../handlers/app.ts'
import { createTestApi } from '../helpers/api/api.ts'
import { followSse } from '../helpers/api/sse-client.ts'
import { openVideo } from '../helpers/live/records.ts'
import { ENGINE_TOKEN, type EngineProcess, startEngine } from '../helpers/process/engine-process.ts'
import { until } from '../helpers/until.ts'

const SCRIPT = readFileSync(resolve(import.meta.dirname, '../../dist/worker.js'), 'utf8')
const API_KEY = 'the-api-key-of-the-worker'
const PASSWORD = 'correct horse battery staple'

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

  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${worker.origin}${path}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
  const read = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await send(method, path, body, headers)
    const text = await answer.text()
    // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
    return { status: answer.status, headers: answer.headers, body: (text === '' ? undefined : JSON.parse(text)) as any }
  }

  // Below the ephemeral ports and apart from those of the other files.
  const environment = { SVC_OUTPUT_PORTS: '11000-11099' }
  beforeAll(async () => {
    engine = await startEngine({ env: environment, dataDir: mkdtempSync(join(tmpdir(), 'svc-worker-')) })
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
    const created = await read('POST', '/svc/pipeline', {
      id: 'edge',
      mode: 'simple',
      on_demand: true,
      source: { uri: 'test://ball?width=320&height=240' },
    })
    expect([created.status, created.body.state]).toEqual([201, 'ready'])
    const events = followSse(await send('GET', '/svc/pipeline/edge/status/events'))
    expect((await events.nextOf('pipeline_status')).data.state).toBe('ready')
    expect((await read('PUT', '/svc/pipeline/edge/play')).body.state).toBe('playing')
    let told = await events.nextOf('pipeline_status')
    while (told.data.state !== 'playing') told = await events.nextOf('pipeline_status')
    await events.leave()

    const snapshot = new Uint8Array(await (await send('GET', '/svc/pipeline/edge/snapshot')).arrayBuffer())
    expect([...snapshot.subarray(0, 2), ...snapshot.subarray(-2)]).toEqual([0xff, 0xd8, 0xff, 0xd9])
    expect((await read('PUT', '/svc/pipeline/edge/screenshots/start', { interval_seconds: 1 })).status).toBe(200)
    const { body: files } = await until(
      () => read('GET', '/svc/files/screenshots?pipeline_id=edge'),
      ({ body }) => body.length > 0,
    )
    const download = await send('GET', files[0].url)
    expect(download.headers.get('content-length')).toBe(String(files[0].size_bytes))
    expect((await download.arrayBuffer()).byteLength).toBe(files[0].size_bytes)
    expect((await read('PUT', '/svc/pipeline/edge/stop')).body.state).toBe('ready')
    expect((await read('DELETE', '/svc/pipeline/edge')).status).toBe(204)
  })

  it('passes live video through, and leaves the engine when its client has left', async () => {
    const source = { uri: 'test://ball?width=320&height=240&fps=30' }
    expect((await read('POST', '/svc/pipeline', { id: 'seen', mode: 'simple', source })).status).toBe(201)
    const client = await openVideo(`${worker.origin}/svc/pipeline/seen/video`)
    await client.until((records) => records.length > 60)
    expect(client.records.slice(0, 2).map(({ kind }) => kind)).toEqual([1, 2])
    const readers = async (): Promise<number> => (await read('GET', '/svc/pipeline/seen')).body.runtime.readers
    expect(await readers()).toBe(1)
    await client.close()
    // At the latest when the client counts as stalled.
    await until(readers, (count) => count === 0)
    expect((await send('HEAD', '/svc/pipeline/seen/stream.ts')).headers.get('content-type')).toBe('video/mp2t')
    await until(readers, (count) => count === 0)
    expect((await read('PUT', '/svc/pipeline/seen/stop')).status).toBe(200)
    expect((await read('DELETE', '/svc/pipeline/seen')).status).toBe(204)
  })

  it('hashes passwords in the engine and limits logins', async () => {
    expect((await read('PUT', '/svc/auth/password', { password: PASSWORD })).body).toEqual({ auth_enabled: true })
    expect((await read('GET', '/svc/pipeline')).status).toBe(401)
    const { token } = (await read('POST', '/svc/auth/login', { password: PASSWORD })).body
    expect((await read('GET', '/svc/pipeline', undefined, { authorization: `Bearer ${token}` })).status).toBe(200)
    const statuses: number[] = []
    while (statuses.length < 10) statuses.push((await read('POST', '/svc/auth/login', { password: 'wrong' })).status)
    // The limit is ten a minute, and the tests before have used some of them.
    expect([...new Set(statuses)]).toEqual([400, 429])
    expect((await read('DELETE', '/svc/auth/password', undefined, { 'x-api-key': API_KEY })).status).toBe(204)
  })

  it('hands settings and pipelines to an engine that was restarted before using it', async () => {
    const source = { uri: 'test://ball?width=320&height=240' }
    expect((await read('POST', '/svc/pipeline', { id: 'kept', mode: 'simple', source })).status).toBe(201)
    const { port } = new URL(engine.url)
    await engine.kill()
    expect((await read('GET', '/svc/pipeline/kept')).status).toBe(503)
    engine = await startEngine({ env: environment, dataDir: engine.dataDir, listen: `127.0.0.1:${port}` })
    await until(
      () => read('GET', '/svc/pipeline/kept'),
      ({ status, body }) => status === 200 && body.state === 'playing',
    )
    expect((await read('PUT', '/svc/pipeline/kept/stop')).status).toBe(200)
    expect((await read('DELETE', '/svc/pipeline/kept')).status).toBe(204)
  })
})

describe('a worker', () => {
  it('answers 503 and names what is missing in its configuration', async () => {
    const { miniflare, origin } = await startWorker({})
    onTestFinished(() => miniflare.dispose())
    const answer = await fetch(`${origin}/svc/health`)
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      details: { reason: 'configuration', mistakes: [expect.stringContaining('SVC_ENGINE_URL')] },
    })
  })

  it('says what is wrong with a secret of its configuration, and not the secret', async () => {
    const { miniflare, origin } = await startWorker({ SVC_API_KEY: 'too-short' })
    onTestFinished(() => miniflare.dispose())
    const { details } = await (await fetch(`${origin}/svc/health`)).json()
    expect(details.mistakes).toEqual(['SVC_API_KEY is not valid: use 16 to 512 printable ASCII characters without blanks'])
  })

  it('reads its license from a variable', async () => {
    const { miniflare, origin } = await startWorker({
      SVC_ENGINE_URL: 'http://127.0.0.1:1',
      SVC_ENGINE_TOKEN: ENGINE_TOKEN,
      SVC_LICENSE: 'not a license',
    })
    onTestFinished(() => miniflare.dispose())
    expect(await (await fetch(`${origin}/svc/health`)).json()).toMatchObject({
      license: 'unreadable',
      engine: 'unavailable',
      database: 'ok',
    })
  })
})

describe('the login limit of a worker', () => {
  const attempts = async (bindings: Record<string, string>, headersOf: (count: number) => Record<string, string>): Promise<number[]> => {
    const { miniflare, origin } = await startWorker({ SVC_ENGINE_URL: 'http://127.0.0.1:1', SVC_ENGINE_TOKEN: ENGINE_TOKEN, ...bindings })
    onTestFinished(() => miniflare.dispose())
    const statuses: number[] = []
    for (let count = 0; count < 12; count += 1) {
      const answer = await fetch(`${origin}/svc/auth/login`, { method: 'POST', body: '{"password":"guess"}', headers: headersOf(count) })
      await answer.text()
      statuses.push(answer.status)
    }
    return statuses
  }

  it('is not reset by an address that the client chooses', async () => {
    const chosen = await attempts({}, (count) => ({ 'cf-connecting-ip': `192.0.2.${count}`, 'x-forwarded-for': `192.0.2.${count}` }))
    expect(chosen.slice(-2)).toEqual([429, 429])
    const behindProxy = await attempts({ SVC_TRUST_PROXY: '1' }, (count) => ({
      'cf-connecting-ip': `192.0.2.${count}`,
      'x-forwarded-for': `192.0.2.${count}, 198.51.100.1`,
    }))
    expect(behindProxy.slice(-2)).toEqual([429, 429])
  })

  it('counts by the header that the platform writes, when it is named', async () => {
    const statuses = await attempts({ SVC_CLIENT_ADDRESS_HEADER: 'CF-Connecting-IP' }, (count) => ({
      'cf-connecting-ip': `192.0.2.${count}`,
    }))
    expect(statuses).not.toContain(429)
  })
})
