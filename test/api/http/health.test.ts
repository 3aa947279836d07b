import { describe, expect, it } from 'vitest'
import { createApp } from '../../../handlers/app.ts'
import { recordAnswers } from '../../../handlers/http/record-answers.ts'
import { createApiMetrics } from '../../../handlers/node/metrics.ts'
import { createTestApi, openApi, simple, type TestApi, toRequest } from '../../helpers/api/api.ts'
import { fetchHost } from '../../helpers/api/hosts.ts'
import { parseMetrics } from '../../helpers/api/prometheus.ts'
import { engineGone, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const HEALTH = 'GET /svc/health'

describe('health', () => {
  it.each([
    [63e6, ['disk_full']],
    [64e6, undefined],
  ])('warns of a full disk with %d bytes left: %s', async (bytes, warnings) => {
    await using api = await createTestApi(fetchHost, { freeBytes: async () => bytes })
    expect((await api.read('/svc/health')).warnings).toEqual(warnings)
  })

  const withLicense = (text: string) => (api: TestApi) => Object.assign(api, { license: text })
  testRowsOnAllHosts([
    row('is degraded while the engine is gone', HEALTH, 503, ['"degraded"', '"engine":"unavailable"', '"database":"ok"', '"playing":0'], {
      given: engineGone(),
    }),
  ])
  testRows([
    row('is ok and counts the pipelines', HEALTH, 200, {
      given: async (api) => {
        await api.given(simple('a'))
        await api.given(simple('b', { on_demand: true }))
        api.time += 61_500
      },
      after: (_api, _response, text) => {
        const states = { status: 'ok', engine: 'ok', database: 'ok' }
        expect(JSON.parse(text)).toEqual({ ...states, uptime_seconds: 61, pipelines: { total: 2, playing: 1 }, fleet: 'off' })
      },
    }),
    row('is degraded while gst-launch-1.0 is missing', HEALTH, 503, ['"engine":"unavailable"', '"warnings":["gstreamer_missing"]'], {
      given: (api) => Object.assign(api.engine, { installed: false }),
    }),
    row('is degraded while the database does not answer', HEALTH, 503, ['"engine":"ok"', '"database":"unavailable"', '"total":0'], {
      given: (api) => api.database.close(),
    }),
    row('shows that the license cannot be read', HEALTH, 200, '"license":"unreadable"', { given: withLicense('not a license') }),
    row('shows that the license has expired', HEALTH, 200, '"license":"expired"', {
      given: withLicense('{"licensee":"x","codecs":[],"expires":"2020-01-01"}'),
    }),
    row('has a probe that asks neither engine nor database', 'GET /svc/healthz', 200, '{"status":"ok"}', {
      given: async (api) => {
        api.engine.reachable = false
        await api.database.close()
      },
      after: (api) => expect(api.engine.calls).toEqual([]),
    }),
  ])

  it('has a probe that answers 503 while the service stops', async () => {
    const api = await openApi()
    const response = await createApp({ ...api.deps, isStopping: () => true })(toRequest('GET', '/svc/healthz'))
    await api.answers.check('GET', `${api.origin}/svc/healthz`, response)
    expect([response.status, await response.text()]).toEqual([503, '{"status":"stopping"}'])
  })
})

describe('the version', () => {
  const version = (engine: string) =>
    `{"name":"video-pipeline-service","version":"0.1.0","api_version":"1","engine":{"name":"gstreamer","version":${engine}}}`
  testRowsOnAllHosts([
    row('names service, API and engine', 'GET /svc/version', 200, version('"1.22.0"')),
    row('is answered also while the engine is gone', 'GET /svc/version', 200, version('null'), { given: engineGone() }),
  ])
})

describe('the metrics', () => {
  const ENGINE = '# HELP svc_pipelines Registered pipelines by phase.\n# TYPE svc_pipelines gauge\nsvc_pipelines{phase="playing"} 2\n'

  /** An API that counts as the Node host does, over an engine whose metrics are a text. */
  const withMetrics = (api: TestApi, engineMetrics = async () => ENGINE) => {
    const metrics = createApiMetrics({ sseClients: () => api.deps.events.feed.subscriberCount() })
    const app = createApp({ ...api.deps, metrics, engineMetrics, onAnswer: recordAnswers({ ...api.deps, metrics }) })
    const send = (method: string, path: string, body?: unknown) => app(toRequest(method, path, body))
    const scrape = async () => {
      const response = await send('GET', '/svc/metrics')
      const type = response.headers.get('content-type')
      expect([response.status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
      return parseMetrics(await response.text())
    }
    return { send, scrape }
  }

  it('are those of API and engine, each name once', async () => {
    const api = await openApi()
    const metrics = await withMetrics(api).scrape()
    expect([metrics.value('svc_engine_up'), metrics.value('svc_pipelines', { phase: 'playing' })]).toEqual([1, 2])
    expect(metrics.value('svc_api_uptime_seconds')).toBeGreaterThan(0)
    expect(metrics.value('svc_api_nodejs_eventloop_active_seconds_total')).toBeGreaterThan(0)
    expect(metrics.repeated).toEqual([])
  })

  it('are those of the API alone while the engine is gone', async () => {
    const api = await openApi()
    const metrics = await withMetrics(api, () => Promise.reject(new Error('rtsp://bob:hunter2@h is away'))).scrape()
    expect([metrics.value('svc_engine_up'), metrics.value('svc_sse_clients')]).toEqual([0, 0])
    expect(metrics.names.has('svc_pipelines')).toBe(false)
  })

  it('count requests by route template, whatever the URL contains', async () => {
    const api = await openApi()
    const { send, scrape } = withMetrics(api)
    await send('POST', '/svc/pipeline', simple('cam-1', { on_demand: true }))
    for (const path of ['cam-1', 'cam-1', 'nobody', 'cam-1?secret=1']) await send('GET', `/svc/pipeline/${path}`)
    await send('GET', '/svc/nowhere/at/all')
    const metrics = await scrape()
    const count = (method: string, route: string, status: string) =>
      metrics.value('svc_http_request_duration_seconds_count', { method, route, status })
    expect(['200', '404', '400'].map((status) => count('GET', '/svc/pipeline/:id', status))).toEqual([2, 1, 1])
    expect([count('POST', '/svc/pipeline', '201'), count('GET', 'unmatched', '404')]).toEqual([1, 1])
    expect(metrics.text).not.toMatch(/secret|nowhere/)
  })

  it('count the connected event clients', async () => {
    const api = await openApi()
    const { send, scrape } = withMetrics(api)
    const streams = await Promise.all([send('GET', '/svc/events'), send('GET', '/svc/events')])
    expect((await scrape()).value('svc_sse_clients')).toBe(2)
    for (const { body } of streams) await body?.cancel()
    expect((await scrape()).value('svc_sse_clients')).toBe(0)
  })
})
