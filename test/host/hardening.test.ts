import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../handlers/node/server/http-server.ts'
import { createTestApi, type TestApi } from '../helpers/api/api.ts'
import { nodeHost } from '../helpers/api/hosts.ts'
import { sendRaw } from '../helpers/api/raw-http.ts'
import { followSse } from '../helpers/api/sse-client.ts'
import { startService } from '../helpers/process/service.ts'
import { createRandom, type Random } from '../helpers/random.ts'
import { until } from '../helpers/until.ts'

const HOST = 'host: localhost\r\n'
const version = (more = '', host = HOST) => `GET /svc/version HTTP/1.1\r\n${host}${more}\r\n`
const login = (more: string, body = '') => `POST /svc/auth/login HTTP/1.1\r\n${HOST}${more}\r\n${body}`
const INNER = `GET /svc/version HTTP/1.1\r\n${HOST}\r\n`

/** Text that no answer may contain: stacks, paths of the host, the secrets of the request. */
const NEVER = /\bat .*:\d+:\d+|file:\/\/|node_modules|\/handlers\/|hunter2/

interface RawRow {
  readonly name: string
  readonly sent: string | Buffer
  /** Statuses of the answers before the connection is closed. */
  readonly statuses: readonly number[]
}

const closing: readonly RawRow[] = [
  {
    name: 'Content-Length with chunked (smuggling)',
    sent: login('content-length: 4\r\ntransfer-encoding: chunked\r\n', `0\r\n\r\n${INNER}`),
    statuses: [400],
  },
  { name: 'two Content-Lengths', sent: login('content-length: 4\r\ncontent-length: 5\r\n', 'abcde'), statuses: [400] },
  { name: 'a negative length', sent: login('content-length: -1\r\n'), statuses: [400] },
  { name: 'an unknown transfer coding', sent: login('transfer-encoding: xchunked\r\n', `0\r\n\r\n${INNER}`), statuses: [400] },
  {
    name: 'chunked before another coding',
    sent: login('transfer-encoding: chunked, identity\r\n', `0\r\n\r\n${INNER}`),
    statuses: [400],
  },
  { name: 'a blank before the colon', sent: login('transfer-encoding : chunked\r\n', `0\r\n\r\n${INNER}`), statuses: [400] },
  { name: 'a folded header field', sent: login('transfer-encoding:\r\n chunked\r\n', `0\r\n\r\n${INNER}`), statuses: [400] },
  { name: 'a chunk without a size', sent: login('transfer-encoding: chunked\r\n', 'ZZ\r\n'), statuses: [400] },
  { name: 'chunk extensions without end', sent: login('transfer-encoding: chunked\r\n', `1;${'a'.repeat(40_000)}\r\nx`), statuses: [400] },
  { name: 'lines that end with LF only', sent: 'GET /svc/version HTTP/1.1\nhost: a\n\n', statuses: [400] },
  { name: 'a CR inside a field', sent: version('x: a\rb\r\n'), statuses: [400] },
  { name: 'a NUL inside a field', sent: version('x: a\0b\r\n'), statuses: [400] },
  { name: 'no Host', sent: version('', ''), statuses: [400] },
  { name: 'two Hosts', sent: version('host: evil.test\r\n'), statuses: [400] },
  { name: 'a Host with a path', sent: version('', 'host: a/b\r\n'), statuses: [400] },
  { name: 'a Host with a user', sent: version('', 'host: u:hunter2@a\r\n'), statuses: [400] },
  { name: 'a Host with an invalid port', sent: version('', 'host: a:99999\r\n'), statuses: [400] },
  { name: 'a Host with an invalid IPv6 address', sent: version('', 'host: [::::]\r\n'), statuses: [400] },
  { name: 'a Host with an invalid IPv4 address', sent: version('', 'host: 999.1.1.1\r\n'), statuses: [400] },
  { name: 'a Host with a blank', sent: version('', 'host: a b\r\n'), statuses: [400] },
  { name: 'the absolute form without Host', sent: 'GET http://api.test/svc/version HTTP/1.1\r\n\r\n', statuses: [400] },
  { name: 'the absolute form with two Hosts', sent: `GET http://api.test/svc/version HTTP/1.1\r\n${HOST}${HOST}\r\n`, statuses: [400] },
  { name: 'the absolute form with a user', sent: `GET http://u:hunter2@api.test/ HTTP/1.1\r\n${HOST}\r\n`, statuses: [400] },
  { name: 'the absolute form of another scheme', sent: `GET ftp://api.test/svc/version HTTP/1.1\r\n${HOST}\r\n`, statuses: [400] },
  { name: 'an asterisk', sent: `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, statuses: [400] },
  { name: 'TRACE with a credential', sent: `TRACE /svc/version HTTP/1.1\r\n${HOST}x-api-key: hunter2\r\n\r\n`, statuses: [405] },
  { name: 'CONNECT', sent: `CONNECT evil.test:443 HTTP/1.1\r\n${HOST}\r\n`, statuses: [] },
  { name: 'an address of 9,000 characters', sent: `GET /svc/${'a'.repeat(9000)} HTTP/1.1\r\n${HOST}\r\n`, statuses: [400] },
  { name: 'an address of 20,000 characters', sent: `GET /svc/${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, statuses: [431] },
  { name: 'a header field of 20,000 characters', sent: version(`x: ${'a'.repeat(20_000)}\r\n`), statuses: [431] },
  { name: 'thousands of header fields', sent: version('a:\r\n'.repeat(5000)), statuses: [431] },
  { name: 'HTTP/0.9', sent: 'GET /svc/version\r\n\r\n', statuses: [400] },
  { name: 'HTTP/1.0 with two Hosts', sent: `GET /svc/version HTTP/1.0\r\n${HOST}${HOST}\r\n`, statuses: [400] },
  { name: 'the preface of HTTP/2', sent: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', statuses: [400] },
  { name: 'a TLS hello', sent: Buffer.from('16030100c8010000c40303', 'hex'), statuses: [400] },
  { name: 'a lowercase method', sent: `get /svc/version HTTP/1.1\r\n${HOST}\r\n`, statuses: [400] },
]

const staying: readonly RawRow[] = [
  { name: 'pipelined requests are answered in order', sent: INNER.repeat(50), statuses: Array(50).fill(200) },
  { name: 'a path that begins with // is a path', sent: `GET //evil.test/svc/version HTTP/1.1\r\n${HOST}\r\n`, statuses: [404] },
  { name: 'HTTP/1.0 without Host is answered', sent: 'GET /svc/version HTTP/1.0\r\n\r\n', statuses: [200] },
  { name: 'HTTP/1.0 with Host is answered', sent: `GET /svc/version HTTP/1.0\r\n${HOST}\r\n`, statuses: [200] },
  {
    name: 'a target in absolute form is answered, with and without path and query',
    sent: ['/svc/version', '/svc/pipeline?state=ready', '', '?a']
      .map((rest) => `GET http://api.test:1${rest} HTTP/1.1\r\n${HOST}\r\n`)
      .join(''),
    statuses: [200, 200, 404, 404],
  },
  { name: 'an upgrade is ignored', sent: version('connection: upgrade\r\nupgrade: websocket\r\n'), statuses: [200] },
  {
    name: 'Expect: 100-continue is answered',
    sent: login('content-length: 16\r\nexpect: 100-continue\r\n', '{"password":"x"}'),
    statuses: [100, 400],
  },
  { name: 'an unknown expectation is refused', sent: login('content-length: 0\r\nexpect: 200-maybe\r\n'), statuses: [417] },
  {
    name: 'an unexpected body is not taken for a second request',
    sent: version(`content-length: ${INNER.length}\r\n`) + INNER + INNER,
    statuses: [200, 200],
  },
  { name: 'bytes above ASCII in a header are accepted', sent: Buffer.from(version('x-api-key: \xff\xfe\r\n'), 'latin1'), statuses: [200] },
]

const isSound = async (api: TestApi) => {
  expect((await api.send('GET', '/svc/health')).status).toBe(200)
  expect(api.logged.filter(({ level }) => level === 'error')).toEqual([])
}

describe('raw requests', () => {
  it('are answered with the reason phrase of the status', async () => {
    await using api = await createTestApi(nodeHost)
    const requests = [
      version(),
      `GET /svc/nothing HTTP/1.1\r\n${HOST}\r\n`,
      `DELETE /svc/version HTTP/1.1\r\n${HOST}\r\n`,
      login('content-length: 2\r\n', '[]'),
      login('content-length: 2\r\ncontent-encoding: gzip\r\n', '[]'),
    ]
    const { text } = await sendRaw(api.origin, requests.join(''), requests.length)
    expect(text.match(/^HTTP\/1\.1 .*$/gm)?.map((line) => line.trim())).toEqual([
      'HTTP/1.1 200 OK',
      'HTTP/1.1 404 Not Found',
      'HTTP/1.1 405 Method Not Allowed',
      'HTTP/1.1 400 Bad Request',
      'HTTP/1.1 415 Unsupported Media Type',
    ])
  })

  for (const { name, sent, statuses } of closing) {
    it(`with ${name} is refused once, and the connection is closed`, async () => {
      await using api = await createTestApi(nodeHost)
      const answer = await sendRaw(api.origin, sent)
      expect(answer.statuses).toEqual(statuses)
      expect(answer.text).not.toMatch(NEVER)
      if (statuses.length > 0) {
        expect(JSON.parse(answer.text.split('\r\n\r\n')[1] ?? '')).toEqual({
          message: expect.any(String),
          code: expect.stringMatching(/^[A-Z_]+$/),
          details: statuses[0] === 400 ? { issues: [{ path: '', message: expect.any(String) }] } : expect.any(Object),
        })
      }
      await isSound(api)
    })
  }

  for (const { name, sent, statuses } of staying) {
    it(name, async () => {
      await using api = await createTestApi(nodeHost)
      const answer = await sendRaw(api.origin, sent, statuses.filter((status) => status >= 200).length)
      expect(answer.statuses).toEqual(statuses)
      expect(answer.text).not.toMatch(NEVER)
      await isSound(api)
    })
  }
})

const PARTS = [
  'GET', 'POST', 'HEAD', 'TRACE', ' ', ' /svc/pipeline', ' /svc/version', ' HTTP/1.1', '\r\n', '\r\n\r\n', '\n', '\r', '\0', ':', ': ', '%', '%00', '..',
  'host: a', 'host: [', 'host: a:0', 'content-length: ', 'transfer-encoding: chunked', '5', '99999999999999999999', '-1', '0\r\n\r\n', '{}', '{"id":"x"}',
  '\xff', '\x7f', '\t', '?', '#', '//', '\\', '[::1]', '@', ';', ',', 'expect: 100-continue', 'connection: close', 'connection: upgrade', 'x-request-id: ',
] // biome-ignore format: a bag of parts

const garbage = (random: Random): Buffer => {
  const well = random.pick([version(), login('content-length: 2\r\n', '{}'), version('', `host: ${random.pick(PARTS)}\r\n`)])
  let text = random.chance(0.8) ? well : ''
  for (let count = random.integer(8); count >= 0; count -= 1) {
    const at = random.integer(text.length + 1)
    text = text.slice(0, at) + random.pick(PARTS) + text.slice(at + (random.chance(0.3) ? random.integer(5) : 0))
  }
  return Buffer.from(text, 'latin1')
}

describe('random bytes', () => {
  const SEED = 20261121
  const REQUESTS = 3000
  it(`get only valid HTTP answers (${REQUESTS} requests)`, async () => {
    await using api = await createTestApi(nodeHost)
    const random = createRandom(SEED)
    const pieces = Array.from({ length: REQUESTS }, () => garbage(random))
    // The client closes after sending, so an incomplete request costs no time.
    const send = (bytes: Buffer): Promise<string> =>
      new Promise((resolve) => {
        const { hostname, port } = new URL(api.origin)
        const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: false })
        let text = ''
        socket.setEncoding('latin1').on('data', (data) => {
          text += data
        })
        socket.on('error', () => undefined).once('close', () => resolve(text))
        socket.end(bytes)
      })
    for (let at = 0; at < REQUESTS; at += 50) {
      const answers = await Promise.all(pieces.slice(at, at + 50).map(send))
      for (const [index, answer] of answers.entries()) {
        const where = JSON.stringify(pieces[at + index]?.toString('latin1'))
        for (const [, status] of answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)) {
          expect([where, status]).toEqual([where, expect.stringMatching(/^(?:100|200|400|403|404|405|413|417|429|431)$/)])
        }
        expect(answer).not.toMatch(NEVER)
      }
    }
    await isSound(api)
  })
})

const SHORT = { headersTimeoutMs: 200, requestTimeoutMs: 400, keepAliveTimeoutMs: 200, checkIntervalMs: 50 }

/** The API on the Node host with limits that a test can reach. */
const serveWith = async (
  api: TestApi,
  limits: Partial<Record<'connections' | 'urlBytes', number>> & Partial<typeof SHORT>,
): Promise<string> => {
  const server = createHttpServer({ app: api.app, trustProxy: false, log: api.deps.log, limits }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const open = async (origin: string): Promise<Socket> => {
  const { hostname, port } = new URL(origin)
  const socket = connect({ host: hostname, port: Number(port) })
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

it('a URL longer than the limit that the server was given is refused', async () => {
  await using api = await createTestApi()
  const origin = await serveWith(api, { urlBytes: 100 })
  const answer = await fetch(`${origin}/svc/healthz?${'a'.repeat(100)}`)
  expect([answer.status, await answer.json()]).toEqual([
    400,
    expect.objectContaining({ message: 'The URL of the request is too long. Use at most 100 bytes.' }),
  ])
  expect((await fetch(`${origin}/svc/healthz`)).status).toBe(200)
})

describe('slow clients and many clients', () => {
  it('answers 408 to an unfinished request and closes idle connections', async () => {
    await using api = await createTestApi()
    const origin = await serveWith(api, SHORT)
    const [head, body, silent] = await Promise.all([
      sendRaw(origin, `GET /svc/version HTTP/1.1\r\n${HOST}`),
      sendRaw(origin, login('content-length: 100\r\n', '{')),
      sendRaw(origin, ''),
    ])
    expect(head.statuses).toEqual([408])
    expect(head.text).toContain('The request took too long to arrive.')
    // Both the API and the HTTP server may end this request; there must be one answer.
    expect([[], [408]]).toContainEqual(body.statuses)
    expect([[], [408]]).toContainEqual(silent.statuses)
    await isSound(api)
  })

  it('closes all silent connections while others are served', async () => {
    await using api = await createTestApi()
    const origin = await serveWith(api, SHORT)
    // Fewer than the listen backlog of 511: the kernel drops connections beyond it silently.
    const sockets = await Promise.all(Array.from({ length: 300 }, () => open(origin)))
    let closed = 0
    const statuses = new Set<number>()
    for (const socket of sockets) socket.resume().once('close', () => (closed += 1))
    await until(
      async () => {
        const answer = await fetch(`${origin}/svc/version`)
        await answer.text()
        statuses.add(answer.status)
        return closed
      },
      (count) => count === sockets.length,
    )
    expect([...statuses]).toEqual([200])
  })

  it('serves others while 300 clients send one byte at a time', async () => {
    await using api = await createTestApi()
    const origin = await serveWith(api, { ...SHORT, headersTimeoutMs: 1000, requestTimeoutMs: 1500 })
    const sockets = await Promise.all(Array.from({ length: 300 }, () => open(origin)))
    // A byte may meet a connection that was just closed, whose error `once` of node:events would take for a failure.
    const closed = Promise.all(sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve))))
    const text = version()
    let at = 0
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(text[at % 20] ?? '')
      at += 1
    }, 20)
    onTestFinished(() => clearInterval(drip))
    for (let count = 0; count < 20; count += 1) expect((await fetch(`${origin}/svc/version`)).status).toBe(200)
    await closed
    expect((await fetch(`${origin}/svc/version`)).status).toBe(200)
  })

  it('drops connections beyond the limit, and accepts new ones when others have closed', async () => {
    await using api = await createTestApi()
    const origin = await serveWith(api, { connections: 20 })
    const sockets = await Promise.all(Array.from({ length: 20 }, () => open(origin)))
    const one = await sendRaw(origin, version('connection: close\r\n'))
    expect(one.statuses).toEqual([])
    for (const socket of sockets) socket.destroy()
    await until(
      async () => (await sendRaw(origin, version('connection: close\r\n'))).statuses[0],
      (status) => status === 200,
    )
  })
})

describe('the shutdown', () => {
  it('finishes requests in progress, closes event streams and takes no new request', async () => {
    const service = await startService()
    const stream = followSse(await fetch(`${service.url}/svc/events`))
    const socket = await open(service.url)
    let answer = ''
    socket.setEncoding('latin1').on('data', (data) => {
      answer += data
    })
    const body = JSON.stringify({ geolocation: null })
    socket.write(`PATCH /svc/pipeline/nobody HTTP/1.1\r\n${HOST}content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`)
    // The service has the head of the request and waits for its body.
    await until(
      () => answer,
      (text) => text.includes('100 Continue'),
    )
    const ended = service.stop()
    await service.waitForLog('service_stopping')
    await stream.rest()
    await expect(fetch(`${service.url}/svc/version`)).rejects.toThrow()
    socket.write(body)
    await once(socket, 'close')
    expect(answer).toMatch(/HTTP\/1\.1 404 [\s\S]*"NOT_FOUND"/)
    expect(await ended).toBe(0)
  })
})
