import { describe, expect, it } from 'vitest'
import { apiRoutes } from '../../handlers/app.ts'
import { ERROR_MESSAGES } from '../../lib/openapi/examples.ts'
import { redact } from '../../lib/redact.ts'
import { API_KEY, advanced, createTestApi, simple } from '../helpers/api/api.ts'
import { type ApiRow, testRows } from './api-rows.ts'

describe('an unknown query parameter', () => {
  it('is refused by name on every operation, before anything is done', async () => {
    await using api = await createTestApi()
    await api.given(simple('gate', { on_demand: true }))
    const before = api.engine.calls.length
    for (const { method, path } of apiRoutes(api.deps)) {
      const address = `${path.replace(':id', 'gate').replace(':file', 'gate_20261120T100000000Z.jpg')}?path=live&nonsense=s3cret`
      const response = await api.send(method, address, undefined, { 'x-api-key': API_KEY })
      const text = await response.text()
      expect([method, path, response.status, text]).toEqual([method, path, 400, expect.stringContaining('"path":"nonsense"')])
      expect(text).not.toContain('s3cret')
    }
    expect(api.engine.calls.length).toBe(before)
  })

  it('is not looked at without credentials', async () => {
    await using api = await createTestApi()
    await api.send('PUT', '/svc/auth/password', { password: 'correct horse' })
    expect((await api.send('GET', '/svc/pipeline?nonsense=1')).status).toBe(401)
  })
})

const arrays: readonly (readonly [where: string, body: Record<string, unknown>])[] = [
  ['source', simple('cam-1', { source: [] })],
  ['source', simple('cam-1', { source: ['rtsp://10.0.0.5/stream'] })],
  ['encoding', simple('cam-1', { encoding: [] })],
  ['klv_config', simple('cam-1', { klv_config: [] })],
  ['output', simple('cam-1', { output: [] })],
  ['geolocation', simple('cam-1', { geolocation: [] })],
  ['klv_config', advanced('cam-1', { klv_config: [] })],
]

testRows([
  ...arrays.map(
    ([where, body]): ApiRow => ({
      name: `refuses an array as ${where} of ${JSON.stringify(body)}`,
      request: ['POST', '/svc/pipeline', body],
      status: 400,
      contains: [`{"path":"${where}","message":"Use an object"}`],
    }),
  ),
  ...['reconnect', 'on_demand', 'screenshots', 'triggers', 'encoder', 'advanced', 'readers'].map(
    (group): ApiRow => ({
      name: `refuses an array as ${group} of the settings`,
      request: ['PUT', '/svc/settings', { [group]: [] }],
      status: 400,
      contains: [`{"path":"${group}","message":"Use an object"}`],
    }),
  ),
  {
    name: 'refuses an array as geolocation of a PATCH',
    given: (api) => api.given(simple('cam-1', { on_demand: true })),
    request: ['PATCH', '/svc/pipeline/cam-1', { geolocation: [] }],
    status: 400,
    contains: ['{"path":"geolocation","message":"Use an object"}'],
  },
  {
    name: 'says how to authenticate, in words that nothing masks',
    given: (api) => api.send('PUT', '/svc/auth/password', { password: 'correct horse' }),
    request: ['GET', '/svc/pipeline'],
    status: 401,
    contains: ['Authorization (Bearer)', 'X-API-Key'],
    lacks: ['***'],
  },
])

describe('the example messages of the API document', () => {
  for (const [code, message] of Object.entries(ERROR_MESSAGES)) it(`${code} is not masked`, () => expect(redact(message)).toBe(message))
})
