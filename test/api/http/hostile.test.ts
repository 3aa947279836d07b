import { describe, expect, it } from 'vitest'
import { apiRoutes, type Route } from '../../../handlers/app.ts'
import { ERROR_STATUS, isErrorCode } from '../../../lib/errors.ts'
import { API_KEY, advanced, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { createRandom, type Random } from '../../helpers/random.ts'

const REQUESTS = 2000
const SEED = 20261120

// biome-ignore format: a bag of parts
const IDS = [
  'cam-1', 'cam-2', 'b', 'c', 'd', 'cam-1', 'adv', 'a', 'validate', 'status', '-', '_', 'A'.repeat(64), 'A'.repeat(65), '..', '.', '%00', '%2e%2e%2f',
  '%', '%zz', '%F0%9F%92%A9', 'a b', "a'--", '__proto__', 'constructor', 'ü', '%25', ';', ' settings', '%20password',
]
// biome-ignore format: a bag of parts
const SCALARS = [
  null, true, false, 0, -1, 1e308, -0, 1.5, '', 'x', 'x'.repeat(5000), '\u0000', '\ud800', '{{7*7}}', "'; DROP TABLE pipelines; --", '../../etc/passwd',
  'rtsp://user:hunter2@h/', 'rtsp://[', 'file:///etc/passwd', 'test://smpte', [], {}, [[]], { $ne: 1 },
]
// biome-ignore format: a bag of parts
const KEYS = [
  'id', 'mode', 'source', 'encoding', 'output', 'raw_pipeline', 'on_demand', 'klv_config', 'geolocation', 'uri', 'latency_ms', 'codec', 'bitrate', 'width',
  'password', 'reconnect', 'advanced', 'denied_elements', 'toString', '__proto__', 'constructor', 'hasOwnProperty', '', 'a.b', '0',
]
// biome-ignore format: a bag of parts
const TEXTS = [
  '', ' ', '{', '[]', '"x"', 'null', '{"a":', '{"a":1}{"b":2}', '\ufeff{}', '{"id":"a","id":1}', 'a=b&c=d', '<xml/>',
  `${'['.repeat(5000)}${']'.repeat(5000)}`, `{"password":"${'p'.repeat(2000)}"}`,
]
// biome-ignore format: a bag of parts
const QUERIES = [
  '', '?', '?mode=simple', '?mode=', '?mode=%', '?state=playing&state=ready', '?on_demand=true', '?__proto__=1', '?mode[]=simple', '?%00=%00',
  '?path=a%2Fb', '?path=%00&pipelineId=a', '?path=a&path=b', `?${'a=1&'.repeat(500)}`,
]
const HEADERS: readonly Record<string, string>[] = [
  {},
  {},
  {},
  { authorization: 'Bearer x' },
  { authorization: 'Bearer' },
  { authorization: 'Basic OjpA' },
  { 'x-api-key': API_KEY },
  { 'x-api-key': 'hunter2' },
  { 'content-type': 'text/plain' },
  { 'content-length': '99999999999' },
  { 'content-length': 'x' },
  { 'transfer-encoding': 'chunked' },
  { 'x-forwarded-for': '1.2.3.4' },
  { expect: '100-continue' },
]
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']

const hostileValue = (random: Random, depth = 0): unknown => {
  if (depth > 3 || random.chance(0.5)) return random.pick(SCALARS)
  return Object.fromEntries(Array.from({ length: random.integer(5) }, () => [random.pick(KEYS), hostileValue(random, depth + 1)]))
}

const hostileBody = (random: Random): string => {
  if (random.chance(0.25)) return random.pick(TEXTS)
  const place = { geolocation: { latitude: 1, longitude: 2 } }
  const bases: Record<string, unknown>[] = [simple(random.pick(IDS)), advanced(random.pick(IDS)), place, { password: 'p' }, {}]
  const mutated = { ...random.pick(bases) }
  for (let count = random.integer(4); count > 0; count -= 1) mutated[random.pick(KEYS)] = hostileValue(random)
  return JSON.stringify(mutated)
}

const hostileRequest = (random: Random, routes: readonly Route[]) => {
  const route = random.pick(routes)
  const path = route.path.replace(/:\w+/g, () => random.pick(IDS))
  const noise = random.chance(0.1) ? random.pick(['/', '//', '/..', '/%2e', '/x']) : ''
  const method = random.chance(0.75) ? route.method : random.pick(METHODS)
  const body = method === 'GET' || method === 'HEAD' ? undefined : hostileBody(random)
  return { method, path: `${path}${noise}${random.pick(QUERIES)}`, body, headers: random.pick(HEADERS) }
}

// That status, header fields and body are those of the API document is checked where the request is sent.
const check = async (response: Response, method: string) => {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response.body?.cancel()
  const text = await response.text()
  expect(text).not.toMatch(/hunter2|INTERNAL_ERROR|SQLITE|\.ts:|node_modules|p{50}/)
  // The refusal of a trigger has a shape of its own.
  if (response.status < 400 || method === 'HEAD' || text === '{"error":"Unauthorized"}') return
  const body: Record<string, unknown> = JSON.parse(text)
  expect(Object.keys(body)).toEqual(['message', 'code', 'details'])
  expect(isErrorCode(body.code) && ERROR_STATUS[body.code]).toBe(response.status)
}

const attack = async (api: TestApi, random: Random, requests: number) => {
  const routes = apiRoutes(api.deps)
  for (let count = 0; count < requests; count += 1) {
    const { method, path, body, headers } = hostileRequest(random, routes)
    api.time += 10_000
    try {
      const response = await api.send(method, path, body, headers)
      await check(response, method)
    } catch (cause) {
      const request = `${method} ${path.slice(0, 200)} ${JSON.stringify(headers)} ${body?.slice(0, 500)}`
      throw new Error(`Request ${count}: ${request}`, { cause })
    }
  }
}

describe('hostile requests', () => {
  it('get documented answers only, and the service keeps working', { timeout: 120_000 }, async () => {
    const api = await openApi()
    await attack(api, createRandom(SEED), REQUESTS)
    expect(api.logged.filter(({ level }) => level === 'error')).toEqual([])
    expect((await api.send('GET', '/svc/health')).status).toBe(200)
    const ids = (await api.deps.pipelines.list()).map(({ config }) => config.id)
    expect(api.engine.ids()).toEqual(ids.sort())
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
  })
})
