import { describe, expect, it } from 'vitest'
import { createApp } from '../../handlers/app.ts'
import { recordAnswers } from '../../handlers/http/record-answers.ts'
import { createApiMetrics } from '../../handlers/node/metrics.ts'
import { createTestApi, simple, type TestApi, toRequest } from '../helpers/api/api.ts'
import { parseMetrics } from '../helpers/api/prometheus.ts'

const ENGINE = '# HELP svc_pipelines Registered pipelines by phase.\n# TYPE svc_pipelines gauge\nsvc_pipelines{phase="playing"} 2\n'

/** An API that counts as the Node host does, over an engine whose metrics are a text. */
const withMetrics = (api: TestApi, engineMetrics: () => Promise<string>) => {
  const metrics = createApiMetrics({ sseClients: () => api.deps.events.feed.subscriberCount() })
  const app = createApp({ ...api.deps, metrics, engineMetrics, onAnswer: recordAnswers({ ...api.deps, metrics }) })
  const send = (method: string, path: string, body?: unknown) => app(toRequest(method, path, body))
  const scrape = async () => {
    const response = await send('GET', '/svc/metrics')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    return parseMetrics(await response.text())
  }
  return { send, scrape }
}

describe('the metrics', () => {
  it('are those of API and engine, each name once', async () => {
    await using api = await createTestApi()
    const { scrape } = withMetrics(api, async () => ENGINE)
    const metrics = await scrape()
    expect(metrics.value('svc_engine_up')).toBe(1)
    expect(metrics.value('svc_pipelines', { phase: 'playing' })).toBe(2)
    expect(metrics.value('svc_api_uptime_seconds')).toBeGreaterThan(0)
    expect(metrics.value('svc_api_nodejs_eventloop_active_seconds_total')).toBeGreaterThan(0)
    expect(metrics.repeated).toEqual([])
  })

  it('are those of the API alone while the engine is gone', async () => {
    await using api = await createTestApi()
    const { scrape } = withMetrics(api, () => Promise.reject(new Error('rtsp://bob:hunter2@h is away')))
    const metrics = await scrape()
    expect(metrics.value('svc_engine_up')).toBe(0)
    expect(metrics.value('svc_sse_clients')).toBe(0)
    expect(metrics.names.has('svc_pipelines')).toBe(false)
  })

  it('count requests by route template, whatever the URL contains', async () => {
    await using api = await createTestApi()
    const { send, scrape } = withMetrics(api, async () => ENGINE)
    await send('POST', '/svc/pipeline', simple('cam-1', { on_demand: true }))
    for (const path of ['cam-1', 'cam-1', 'nobody', 'cam-1?secret=1']) await send('GET', `/svc/pipeline/${path}`)
    await send('GET', '/svc/nowhere/at/all')
    const metrics = await scrape()
    const count = (labels: Record<string, string>) => metrics.value('svc_http_request_duration_seconds_count', labels)
    expect(count({ method: 'GET', route: '/svc/pipeline/:id', status: '200' })).toBe(2)
    expect(count({ method: 'GET', route: '/svc/pipeline/:id', status: '404' })).toBe(1)
    expect(count({ method: 'GET', route: '/svc/pipeline/:id', status: '400' })).toBe(1)
    expect(count({ method: 'POST', route: '/svc/pipeline', status: '201' })).toBe(1)
    expect(count({ method: 'GET', route: 'unmatched', status: '404' })).toBe(1)
    expect(metrics.text).not.toMatch(/secret|nowhere/)
  })

  it('count the connected event clients', async () => {
    await using api = await createTestApi()
    const { send, scrape } = withMetrics(api, async () => ENGINE)
    const streams = await Promise.all([send('GET', '/svc/events'), send('GET', '/svc/events')])
    expect((await scrape()).value('svc_sse_clients')).toBe(2)
    for (const { body } of streams) await body?.cancel()
    expect((await scrape()).value('svc_sse_clients')).toBe(0)
  })

  it('need credentials once a password is set', async () => {
    await using api = await createTestApi()
    const { send } = withMetrics(api, async () => ENGINE)
    await send('PUT', '/svc/auth/password', { password: 'correct horse battery' })
    expect((await send('GET', '/svc/metrics')).status).toBe(401)
  })
})
