import { describe, expect, it } from 'vitest'
import { createApp } from '../../handlers/app.ts'
import { createTestApi, simple, toRequest } from '../helpers/api/api.ts'
import { testRows } from './api-rows.ts'

const health = ['GET', '/svc/health'] as const

describe('health', () => {
  testRows([
    {
      name: 'is ok and counts the pipelines',
      inProcess: true,
      given: async (api) => {
        await api.given(simple('a'))
        await api.given(simple('b', { on_demand: true }))
        api.time += 61_500
      },
      request: health,
      status: 200,
      after: (_api, _response, text) =>
        expect(JSON.parse(text)).toEqual({
          status: 'ok',
          engine: 'ok',
          database: 'ok',
          uptime_seconds: 61,
          pipelines: { total: 2, playing: 1 },
        }),
    },
    {
      name: 'is degraded while the engine is gone',
      given: async (api) => {
        api.engine.reachable = false
      },
      request: health,
      status: 503,
      contains: ['"status":"degraded"', '"engine":"unavailable"', '"database":"ok"', '"playing":0'],
    },
    {
      name: 'is degraded while gst-launch-1.0 is missing',
      given: async (api) => {
        api.engine.installed = false
      },
      request: health,
      status: 503,
      contains: ['"engine":"unavailable"'],
    },
    {
      name: 'is degraded while the database does not answer',
      inProcess: true,
      given: async (api) => api.database.close(),
      request: health,
      status: 503,
      contains: ['"status":"degraded"', '"engine":"ok"', '"database":"unavailable"', '"total":0'],
    },
    {
      name: 'shows that the license cannot be read',
      inProcess: true,
      given: async (api) => {
        api.license = 'not a license'
      },
      request: health,
      status: 200,
      contains: ['"license":"unreadable"'],
    },
    {
      name: 'shows that the license has expired',
      inProcess: true,
      given: async (api) => {
        api.license = '{"licensee":"x","codecs":[],"expires":"2020-01-01"}'
      },
      request: health,
      status: 200,
      contains: ['"license":"expired"'],
    },
  ])
})

describe('the probe', () => {
  testRows([
    {
      name: 'is ok and calls neither engine nor database',
      given: async (api) => {
        api.engine.reachable = false
        await api.database.close()
      },
      request: ['GET', '/svc/healthz'],
      status: 200,
      contains: ['{"status":"ok"}'],
      after: (api) => expect(api.engine.calls).toEqual([]),
    },
  ])

  it('answers 503 while the service stops', async () => {
    await using api = await createTestApi()
    const app = createApp({ ...api.deps, isStopping: () => true })
    const response = await app(toRequest('GET', '/svc/healthz'))
    expect([response.status, await response.text()]).toEqual([503, '{"status":"stopping"}'])
  })
})

describe('the version', () => {
  testRows([
    {
      name: 'names service, API and engine',
      request: ['GET', '/svc/version'],
      status: 200,
      contains: ['{"name":"video-pipeline-service","version":"0.1.0","api_version":"1","engine":{"name":"gstreamer","version":"1.22.0"}}'],
    },
    {
      name: 'is answered also while the engine is gone',
      given: async (api) => {
        api.engine.reachable = false
      },
      request: ['GET', '/svc/version'],
      status: 200,
      contains: ['"engine":{"name":"gstreamer","version":null}'],
    },
  ])
})
