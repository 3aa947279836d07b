import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { apiRoutes } from '../../handlers/app.ts'
import { createTestApi, ORIGIN, simple, type TestApi } from '../helpers/api/api.ts'
import { nodeHost } from '../helpers/api/hosts.ts'
import { testRows } from './api-rows.ts'

const ready = (api: TestApi) => api.given(simple('cam-1', { on_demand: true }))
const MIB = 1_048_576

describe('paths and methods', () => {
  testRows([
    { name: 'an unknown address is 404', request: ['GET', '/svc/nothing'], status: 404, contains: ['"code":"NOT_FOUND"'] },
    { name: 'the root is 404', request: ['GET', '/'], status: 404 },
    { name: 'a path without the prefix is 404', request: ['GET', '/pipeline'], status: 404 },
    { name: 'a path in capitals is another one', request: ['GET', '/SVC/pipeline'], status: 404 },
    { name: 'a path below an operation is 404', request: ['PUT', '/svc/pipeline/cam-1/play/now'], status: 404 },
    {
      name: 'a trailing slash names the same resource',
      given: ready,
      request: ['GET', '/svc/pipeline/cam-1/'],
      status: 200,
      contains: ['"id":"cam-1"'],
    },
    {
      name: 'another method on a collection is 405 with the list of allowed methods',
      request: ['DELETE', '/svc/pipeline'],
      status: 405,
      contains: ['"code":"METHOD_NOT_ALLOWED"'],
      headers: { allow: 'GET, HEAD, POST' },
    },
    {
      name: 'another method on a pipeline is 405',
      request: ['POST', '/svc/pipeline/cam-1'],
      status: 405,
      headers: { allow: 'GET, HEAD, PUT, PATCH, DELETE' },
    },
    { name: 'GET on play is 405', request: ['GET', '/svc/pipeline/cam-1/play'], status: 405, headers: { allow: 'PUT' } },
    { name: 'HEAD on play is 405', request: ['HEAD', '/svc/pipeline/cam-1/play'], status: 405, headers: { allow: 'PUT' } },
    { name: 'OPTIONS is 405', request: ['OPTIONS', '/svc/pipeline'], status: 405, headers: { allow: 'GET, HEAD, POST' } },
    { name: 'a method of WebDAV is 405', request: ['PROPFIND', '/svc/version'], status: 405, headers: { allow: 'GET, HEAD' } },
  ])

  it('HEAD answers every GET with its status and header fields and without content', async () => {
    await using api = await createTestApi()
    await ready(api)
    const paths = apiRoutes(api.deps)
      .filter(({ method }) => method === 'GET')
      .map(({ path }) => path.replace(':id', 'cam-1'))
    expect(paths.length).toBeGreaterThan(5)
    for (const path of [...paths, '/svc/pipeline/nobody', '/svc/nothing']) {
      const [get, head] = [await api.send('GET', path), await api.send('HEAD', path)]
      expect([path, head.status, await head.text()]).toEqual([path, get.status, ''])
      expect([...head.headers]).toEqual([...get.headers])
      await get.body?.cancel()
    }
  })
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
  const post = (body: unknown, headers: Record<string, string> = {}) => ['POST', '/svc/pipeline', body, headers] as const
  testRows([
    { name: 'an empty body is refused', request: post(undefined), status: 400, contains: ['"code":"VALIDATION_ERROR"'] },
    { name: 'what is not JSON is refused', request: post('{"id": '), status: 400, contains: ['not JSON'] },
    { name: 'an array is refused', request: post('[]'), status: 400, contains: ['JSON object'] },
    { name: 'null is refused', request: post('null'), status: 400, contains: ['JSON object'] },
    { name: 'a number is refused', request: post('17'), status: 400 },
    {
      name: 'JSON is accepted with any Content-Type',
      request: post(simple('cam-1'), { 'content-type': 'application/x-www-form-urlencoded' }),
      status: 201,
    },
    {
      name: 'a field named __proto__ is unknown',
      request: post('{"id":"a","mode":"simple","source":{"uri":"rtsp://h/"},"__proto__":{"on_demand":true}}'),
      status: 400,
      contains: ['__proto__'],
    },
    {
      name: 'a field named constructor is unknown',
      request: post('{"id":"a","mode":"simple","source":{"uri":"rtsp://h/","constructor":1}}'),
      status: 400,
      contains: ['source.constructor'],
    },
    {
      name: 'the last of two fields with the same name counts',
      request: post('{"id":"a","id":"b","mode":"simple","source":{"uri":"rtsp://h/"}}'),
      status: 201,
      contains: ['"id":"b"'],
    },
    { name: 'nesting without end is refused', request: post(`{"a":${'['.repeat(20000)}${']'.repeat(20000)}}`), status: 400 },
    {
      name: 'a body over 1 MiB is refused',
      request: post(`{"id":"${'a'.repeat(MIB)}"}`),
      status: 413,
      contains: ['"code":"PAYLOAD_TOO_LARGE"', '"limit_bytes":1048576'],
    },
    {
      name: 'a compressed body is refused',
      request: post('{"id":"a"}', { 'content-encoding': 'gzip' }),
      status: 415,
      contains: ['"code":"UNSUPPORTED_MEDIA_TYPE"', 'without Content-Encoding'],
    },
    {
      name: 'a body with the coding identity is read',
      request: post('{"id":"a"}', { 'content-encoding': 'Identity' }),
      status: 400,
      contains: ['"path":"mode"'],
    },
    { name: 'a body of just 1 MiB is read', request: post(`{"id":"a"${' '.repeat(MIB - 10)}}`), status: 400, contains: ['"path":"mode"'] },
  ])

  it('a Content-Length over 1 MiB is refused before the body is read', async () => {
    await using api = await createTestApi()
    const { request, sent } = streamed(new Uint8Array(1024), 1, { 'content-length': String(MIB + 1) })
    expect((await api.app(request)).status).toBe(413)
    expect(sent()).toBe(0)
  })

  it('a stream without length is cut off at 1 MiB', async () => {
    await using api = await createTestApi()
    const { request, sent } = streamed(new Uint8Array(65536).fill(32), 1_000_000)
    expect((await api.app(request)).status).toBe(413)
    expect(sent()).toBeLessThan(32)
  })

  it('bytes that are not UTF-8 are refused, also when a character is cut in two by the stream', async () => {
    await using api = await createTestApi()
    const { request } = streamed(new Uint8Array([0xff, 0xfe]), 1)
    expect((await api.app(request)).status).toBe(400)
    const { request: cut } = streamed(new Uint8Array([0xc3]), 1)
    expect((await api.app(cut)).status).toBe(400)
  })
})

describe('internal failures', () => {
  const broken = async (api: TestApi) => {
    api.deps.engine.list = async () => {
      throw new TypeError("Cannot read properties of undefined (reading 'rtsp://root:pw@host')")
    }
  }
  testRows([
    {
      name: 'answer only a request id and log the cause',
      inProcess: true,
      given: broken,
      request: ['GET', '/svc/pipeline'],
      status: 500,
      contains: ['"code":"INTERNAL_ERROR"', '"request_id"'],
      lacks: ['TypeError', 'undefined', 'rtsp', 'Cannot read'],
      after: (api, _response, text) => {
        const { request_id } = JSON.parse(text).details
        expect(api.logged).toContainEqual({
          level: 'error',
          event: 'request_failed',
          fields: expect.objectContaining({ request_id, method: 'GET', path: '/svc/pipeline', code: 'INTERNAL_ERROR' }),
        })
      },
    },
  ])

  it('use the request id of the host', async () => {
    await using api = await createTestApi()
    await broken(api)
    const response = await api.app(new Request(`${ORIGIN}/svc/pipeline`), { requestId: 'r-17' })
    expect(await response.json()).toMatchObject({ details: { request_id: 'r-17' } })
  })

  it('are not logged when the client has disconnected', async () => {
    await using api = await createTestApi()
    const gone = new AbortController()
    api.deps.engine.list = async () => {
      gone.abort()
      throw gone.signal.reason
    }
    await api.app(new Request(`${ORIGIN}/svc/pipeline`, { signal: gone.signal }))
    expect(api.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})

/** Sends raw bytes to the API's HTTP server and answers what comes back until either side ends. */
const exchangeRaw = async (api: TestApi, text: string, { hangUp = false } = {}): Promise<string> => {
  const { hostname, port } = new URL(api.origin)
  const socket = connect({ host: hostname, port: Number(port) })
  let received = ''
  socket.setEncoding('utf8').on('data', (data) => {
    received += data
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // A server that refuses a body may reset the connection after its answer.
  socket.on('error', () => undefined)
  socket.write(text)
  if (hangUp) socket.destroySoon()
  await closed
  return received
}

describe('raw clients of the Node host', () => {
  const head = 'POST /svc/pipeline HTTP/1.1\r\nhost: api.test\r\n'

  it('a client that disconnects while sending its body causes no failure', async () => {
    await using api = await createTestApi(nodeHost)
    await exchangeRaw(api, `${head}content-length: 100\r\n\r\n{"id":`, { hangUp: true })
    await exchangeRaw(api, `${head}transfer-encoding: chunked\r\n\r\n5\r\n{"id"`, { hangUp: true })
    expect((await api.send('GET', '/svc/health')).status).toBe(200)
    expect(api.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  const chunk = `10000\r\n${' '.repeat(65536)}\r\n`
  for (const [name, rest] of [
    ['a chunked body that passes 1 MiB', `transfer-encoding: chunked\r\n\r\n${chunk.repeat(40)}`],
    ['a body that announces more than 1 MiB', `content-length: ${40 * 65536}\r\n\r\n${' '.repeat(20 * 65536)}`],
  ] as const) {
    it(`${name} gets 413 before its end, and the connection is closed`, async () => {
      await using api = await createTestApi(nodeHost)
      const answer = await exchangeRaw(api, `${head}${rest}`)
      expect(answer).toMatch(/^HTTP\/1\.1 413 /)
      expect(answer).toContain('PAYLOAD_TOO_LARGE')
    })
  }
})
