import { describe, expect, it } from 'vitest'
import { apiRoutes } from '../../../handlers/app.ts'
import { API_KEY, createTestApi, ORIGIN, openApi, simple, type TestApi } from '../../helpers/api/api.ts'
import { nodeHost } from '../../helpers/api/hosts.ts'
import { passwordSet, row, testRows, testRowsOnAllHosts } from '../../helpers/api/rows.ts'

const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const errorsOf = (api: TestApi) => api.logged.filter(({ level }) => level === 'error')
const MIB = 1_048_576

describe('paths and methods', () => {
  const refuses = (name: string, line: string, allow: string) =>
    row(name, line, 405, line.startsWith('HEAD') ? [] : 'METHOD_NOT_ALLOWED', { headers: { allow } })
  testRowsOnAllHosts([
    row('an unknown address is 404', 'GET /svc/nothing', 404, '"code":"NOT_FOUND"'),
    row('the root is 404', 'GET /', 404),
    row('a trailing slash names the same resource', 'GET /svc/pipeline/cam-1/', 200, '"id":"cam-1"', { given: ready }),
    refuses('another method on a pipeline is 405', 'POST /svc/pipeline/cam-1', 'GET, HEAD, PUT, PATCH, DELETE'),
    refuses('HEAD on play is 405', 'HEAD /svc/pipeline/cam-1/play', 'PUT'),
    refuses('OPTIONS is 405', 'OPTIONS /svc/pipeline', 'GET, HEAD, POST'),
    refuses('a method of WebDAV is 405', 'PROPFIND /svc/version', 'GET, HEAD'),
  ])
  testRows([
    row('a path without the prefix is 404', 'GET /pipeline', 404),
    row('a path below an operation is 404', 'PUT /svc/pipeline/cam-1/play/now', 404),
    refuses('POST on a screenshot file is 405', 'POST /svc/files/screenshots/a.jpg', 'GET, HEAD, DELETE'),
  ])

  it('HEAD answers every GET with its status and header fields and without content', async () => {
    const api = await openApi(ready)
    const paths = apiRoutes(api.deps).flatMap(({ method, path }) => (method === 'GET' ? [path.replace(':id', 'cam-1')] : []))
    expect(paths.length).toBeGreaterThan(5)
    for (const path of [...paths, '/svc/pipeline/nobody', '/svc/nothing']) {
      const [get, head] = [await api.send('GET', path), await api.send('HEAD', path)]
      expect([path, head.status, await head.text()]).toEqual([path, get.status, ''])
      expect([...head.headers]).toEqual([...get.headers])
      await get.body?.cancel()
    }
    expect(api.deps.events.feed.subscriberCount()).toBe(0)
  })
})

describe('an unknown query parameter', () => {
  it('is refused by name on every operation, before anything is done', async () => {
    const api = await openApi(ready)
    const before = api.engine.calls.length
    for (const { method, path } of apiRoutes(api.deps)) {
      const address = `${path.replace(':id', 'cam-1').replace(':file', 'gate_20261120T100000000Z.jpg')}?path=live&nonsense=s3cret`
      const response = await api.send(method, address, undefined, { 'x-api-key': API_KEY })
      const text = await response.text()
      expect([method, path, response.status, text]).toEqual([method, path, 400, expect.stringContaining('"path":"nonsense"')])
      expect(text).not.toContain('s3cret')
    }
    expect(api.engine.calls.length).toBe(before)
  })

  testRows([
    row('is not looked at without credentials', 'GET /svc/pipeline?nonsense=1', 401, ['Authorization (Bearer)', 'X-API-Key'], {
      given: passwordSet(),
      lacks: ['***'],
    }),
  ])
})

const streamed = (chunk: Uint8Array, times: number, headers: Record<string, string> = {}) => {
  let sent = 0
  const source = {
    pull: (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (sent++ < times) controller.enqueue(chunk)
      else controller.close()
    },
  }
  // The body is read only on demand.
  const body = new ReadableStream<Uint8Array>(source, { highWaterMark: 0 })
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, headers, duplex: 'half' }
  return { request: new Request(`${ORIGIN}/svc/pipeline`, init), sent: () => sent }
}

describe('request bodies', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) => ['POST /svc/pipeline', body, headers] as const
  const LARGE = `{"id":"${'a'.repeat(MIB)}"}`
  testRowsOnAllHosts([
    row('an empty body is refused', post(undefined), 400, '"code":"VALIDATION_ERROR"'),
    row('what is not JSON is refused', post('{"id": '), 400, 'not JSON'),
    row('JSON is accepted with any Content-Type', post(simple('cam-1'), { 'content-type': 'application/x-www-form-urlencoded' }), 201),
    row('a body over 1 MiB is refused', post(LARGE), 413, ['"code":"PAYLOAD_TOO_LARGE"', '"limit_bytes":1048576']),
    row('a body of just 1 MiB is read', post(`{"id":"a"${' '.repeat(MIB - 10)}}`), 400, '"path":"mode"'),
    row('a compressed body is refused', post('{"id":"a"}', { 'content-encoding': 'gzip' }), 415, 'without Content-Encoding'),
  ])
  testRows([
    ...['[]', 'null', '17'].map((body) => row(`${body} is refused`, post(body), 400, 'JSON object')),
    row('a field named __proto__ is unknown', post('{"id":"a","mode":"simple","__proto__":{"on_demand":true}}'), 400, '__proto__'),
    row('a field named constructor is unknown', post('{"id":"a","source":{"uri":"rtsp://h/","constructor":1}}'), 400, 'source.constructor'),
    row(
      'the last of two fields with the same name counts',
      post('{"id":"a","id":"b","mode":"simple","source":{"uri":"rtsp://h/"}}'),
      201,
      '"id":"b"',
    ),
    row('nesting without end is refused', post(`{"a":${'['.repeat(20000)}${']'.repeat(20000)}}`), 400),
    row('a body with the coding identity is read', post('{"id":"a"}', { 'content-encoding': 'Identity' }), 400, '"path":"mode"'),
  ])

  it('a Content-Length over 1 MiB is refused before the body is read', async () => {
    const api = await openApi()
    const { request, sent } = streamed(new Uint8Array(1024), 1, { 'content-length': String(MIB + 1) })
    expect([(await api.app(request)).status, sent()]).toEqual([413, 0])
  })

  it('a stream without length is cut off at 1 MiB', async () => {
    const api = await openApi()
    const { request, sent } = streamed(new Uint8Array(65536).fill(32), 1_000_000)
    expect((await api.app(request)).status).toBe(413)
    expect(sent()).toBeLessThan(32)
  })

  it.each([[[0xff, 0xfe]], [[0xc3]]])('bytes that are not UTF-8, or end within a character, are refused: %j', async (bytes) => {
    const api = await openApi()
    expect((await api.app(streamed(Uint8Array.from(bytes), 1).request)).status).toBe(400)
  })
})

describe('internal failures', () => {
  const broken = async (api: TestApi) => {
    const fault = new TypeError("Cannot read properties of undefined (reading 'rtsp://root:pw@host')")
    api.deps.engine.list = () => Promise.reject(fault)
  }
  testRows([
    row('answer only a request id and log the cause', 'GET /svc/pipeline', 500, ['"code":"INTERNAL_ERROR"', '"request_id"'], {
      given: broken,
      lacks: ['TypeError', 'undefined', 'rtsp', 'Cannot read'],
      after: (api, _response, text) => {
        const { request_id } = JSON.parse(text).details
        const fields = { request_id, method: 'GET', path: '/svc/pipeline', code: 'INTERNAL_ERROR' }
        expect(errorsOf(api)).toMatchObject([{ event: 'request_failed', fields }])
      },
    }),
  ])

  it('use the request id of the host', async () => {
    const api = await openApi(broken)
    const response = await api.app(new Request(`${ORIGIN}/svc/pipeline`), { requestId: 'r-17' })
    expect(await response.json()).toMatchObject({ details: { request_id: 'r-17' } })
  })

  it('are not logged when the client has disconnected', async () => {
    const api = await openApi()
    const gone = new AbortController()
    api.deps.engine.list = async () => {
      gone.abort()
      throw gone.signal.reason
    }
    await api.app(new Request(`${ORIGIN}/svc/pipeline`, { signal: gone.signal }))
    expect(errorsOf(api)).toEqual([])
  })
})

describe('the log line of a request', () => {
  it('has the id, method, route template, status and time, of refused requests too, and neither path nor query', async () => {
    const api = await openApi(ready, nodeHost)
    const response = await api.send('GET', '/svc/pipeline/cam-1/log?token=hunter2', undefined, { 'x-request-id': 'abc-1' })
    expect(response.headers.get('x-request-id')).toBe('abc-1')
    await api.send('GET', '/svc/secret-token-in-a-path')
    await api.send('DELETE', '/svc/pipeline/nobody')
    const ms = expect.any(Number)
    expect(api.logged.filter(({ event }) => event === 'request')).toMatchObject([
      { level: 'info', fields: { method: 'POST', route: '/svc/pipeline', status: 201 } },
      { level: 'debug', fields: { method: 'GET', route: '/svc/pipeline/:id/log', status: 400, request_id: 'abc-1', ms } },
      { level: 'debug', fields: { method: 'GET', route: null, status: 404 } },
      { level: 'info', fields: { method: 'DELETE', route: '/svc/pipeline/:id', status: 404 } },
    ])
    expect(JSON.stringify(api.logged)).not.toMatch(/hunter2|secret-token/)
  })

  it('has a generated id when that of the client is not valid', async () => {
    await using api = await createTestApi(nodeHost)
    for (const insane of ['a b', 'x'.repeat(129), 'quote"', '{}', 'é']) {
      const response = await api.send('GET', '/svc/healthz', undefined, { 'x-request-id': insane })
      expect([insane, response.headers.get('x-request-id')]).toEqual([insane, expect.stringMatching(/^[0-9a-f-]{36}$/)])
    }
  })
})
