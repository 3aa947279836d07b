import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../handlers/node/server/http-server.ts'
import { createTestApi, type TestApi, useTestApi } from '../../helpers/api/api.ts'
import { nodeHost } from '../../helpers/api/hosts.ts'
import { createRandom, type Random } from '../../helpers/random.ts'

const HOST = 'host: localhost\r\n'
const version = (more = '', host = HOST) => `GET /svc/version HTTP/1.1\r\n${host}${more}\r\n`
const login = (more: string, body = '') => `POST /svc/auth/login HTTP/1.1\r\n${HOST}${more}\r\n${body}`
const INNER = `GET /svc/version HTTP/1.1\r\n${HOST}\r\n`

/** Text that no answer may contain: stacks, paths of the host, the secrets of the request. */
const NEVER = /\bat .*:\d+:\d+|file:\/\/|node_modules|\/handlers\/|hunter2/

/** Refused once, and the connection is closed. */
const REFUSED: readonly (readonly [name: string, sent: string | Buffer, status?: number])[] = [
  ['Content-Length with chunked (smuggling)', login('content-length: 4\r\ntransfer-encoding: chunked\r\n', `0\r\n\r\n${INNER}`)],
  ['two Content-Lengths', login('content-length: 4\r\ncontent-length: 5\r\n', 'abcde')],
  ['an unknown transfer coding', login('transfer-encoding: xchunked\r\n', `0\r\n\r\n${INNER}`)],
  ['chunked before another coding', login('transfer-encoding: chunked, identity\r\n', `0\r\n\r\n${INNER}`)],
  ['a blank before the colon', login('transfer-encoding : chunked\r\n', `0\r\n\r\n${INNER}`)],
  ['a folded header field', login('transfer-encoding:\r\n chunked\r\n', `0\r\n\r\n${INNER}`)],
  ['a chunk without a size', login('transfer-encoding: chunked\r\n', 'ZZ\r\n')],
  ['chunk extensions without end', login('transfer-encoding: chunked\r\n', `1;${'a'.repeat(40_000)}\r\nx`)],
  ['lines that end with LF only', 'GET /svc/version HTTP/1.1\nhost: a\n\n'],
  ['a CR inside a field', version('x: a\rb\r\n')],
  ['no Host', version('', '')],
  ['two Hosts', version('host: evil.test\r\n')],
  ['a Host with a path', version('', 'host: a/b\r\n')],
  ['a Host with a user', version('', 'host: u:hunter2@a\r\n')],
  ['a Host with an invalid IPv6 address', version('', 'host: [::::]\r\n')],
  ['the absolute form without Host', 'GET http://api.test/svc/version HTTP/1.1\r\n\r\n'],
  ['the absolute form with two Hosts', `GET http://api.test/svc/version HTTP/1.1\r\n${HOST}${HOST}\r\n`],
  ['the absolute form with a user', `GET http://u:hunter2@api.test/ HTTP/1.1\r\n${HOST}\r\n`],
  ['the absolute form of another scheme', `GET ftp://api.test/svc/version HTTP/1.1\r\n${HOST}\r\n`],
  ['TRACE with a credential', `TRACE /svc/version HTTP/1.1\r\n${HOST}x-api-key: hunter2\r\n\r\n`, 405],
  ['CONNECT, without an answer', `CONNECT evil.test:443 HTTP/1.1\r\n${HOST}\r\n`, 0],
  ['an address of 9,000 characters', `GET /svc/${'a'.repeat(9000)} HTTP/1.1\r\n${HOST}\r\n`],
  ['an address of 20,000 characters', `GET /svc/${'a'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`, 431],
  ['a header field of 20,000 characters', version(`x: ${'a'.repeat(20_000)}\r\n`), 431],
  ['thousands of header fields', version('a:\r\n'.repeat(5000)), 431],
  ['a chunked body that passes 1 MiB', login('transfer-encoding: chunked\r\n', `10000\r\n${' '.repeat(65536)}\r\n`.repeat(40)), 413],
  ['a body that announces more than 1 MiB', login(`content-length: ${40 * 65536}\r\n`, ' '.repeat(20 * 65536)), 413],
  ['HTTP/1.0 with two Hosts', `GET /svc/version HTTP/1.0\r\n${HOST}${HOST}\r\n`],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a TLS hello', Buffer.from('16030100c8010000c40303', 'hex')],
]

/** Answered, and the connection stays open. */
const ANSWERED: readonly (readonly [name: string, sent: string | Buffer, statuses: readonly number[]])[] = [
  ['pipelined requests are answered in order', INNER.repeat(50), Array(50).fill(200)],
  ['a path that begins with // is a path', `GET //evil.test/svc/version HTTP/1.1\r\n${HOST}\r\n`, [404]],
  ['HTTP/1.0 without Host is answered', 'GET /svc/version HTTP/1.0\r\n\r\n', [200]],
  ['HTTP/1.0 with Host is answered', `GET /svc/version HTTP/1.0\r\n${HOST}\r\n`, [200]],
  [
    'a target in absolute form is answered, with and without path and query',
    ['/svc/version', '/svc/pipeline?state=ready', '', '?a'].map((rest) => `GET http://api.test:1${rest} HTTP/1.1\r\n${HOST}\r\n`).join(''),
    [200, 200, 404, 404],
  ],
  ['an upgrade is ignored', version('connection: upgrade\r\nupgrade: websocket\r\n'), [200]],
  ['Expect: 100-continue is answered', login('content-length: 16\r\nexpect: 100-continue\r\n', '{"password":"x"}'), [100, 400]],
  ['an unknown expectation is refused', login('content-length: 0\r\nexpect: 200-maybe\r\n'), [417]],
  ['an unexpected body is not taken for a second request', version(`content-length: ${INNER.length}\r\n`) + INNER + INNER, [200, 200]],
  ['bytes above ASCII in a header are accepted', Buffer.from(version('x-api-key: \xff\xfe\r\n'), 'latin1'), [200]],
]

const expectSound = async (api: TestApi) => {
  expect((await api.send('GET', '/svc/health')).status).toBe(200)
  expect(api.logged.filter(({ level }) => level === 'error')).toEqual([])
}

describe('raw requests', () => {
  const shared = useTestApi(nodeHost)

  it('are answered with the reason phrase of the status', async () => {
    const requests = [
      version(),
      `GET /svc/nothing HTTP/1.1\r\n${HOST}\r\n`,
      `DELETE /svc/version HTTP/1.1\r\n${HOST}\r\n`,
      login('content-length: 2\r\n', '[]'),
      login('content-length: 2\r\ncontent-encoding: gzip\r\n', '[]'),
    ]
    const { text } = await sendRaw(shared().origin, requests.join(''), requests.length)
    const phrases = ['200 OK', '404 Not Found', '405 Method Not Allowed', '400 Bad Request', '415 Unsupported Media Type']
    expect([...text.matchAll(/^HTTP\/1\.1 (.*)\r$/gm)].map(([, phrase]) => phrase)).toEqual(phrases)
  })

  it.each(REFUSED.map(([name, sent, status = 400]) => [name, sent, status] as const))(
    'with %s are refused once, and the connection is closed',
    async (_, sent, status) => {
      const { statuses, text } = await sendRaw(shared().origin, sent)
      expect(statuses).toEqual(status === 0 ? [] : [status])
      expect(text).not.toMatch(NEVER)
      if (status !== 0) {
        const details = status === 400 ? { issues: [{ path: '', message: expect.any(String) }] } : expect.any(Object)
        const body = { message: expect.any(String), code: expect.stringMatching(/^[A-Z_]+$/), details }
        expect(JSON.parse(/\{.*\}/.exec(text)?.[0] ?? '')).toEqual(body)
      }
      await expectSound(shared())
    },
  )

  it.each(ANSWERED)('%s', async (_, sent, expected) => {
    const { statuses, text } = await sendRaw(shared().origin, sent, expected.filter((status) => status >= 200).length)
    expect(statuses).toEqual(expected)
    expect(text).not.toMatch(NEVER)
    await expectSound(shared())
  })
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

it('a client that disconnects while sending its body causes no failure', async () => {
  await using api = await createTestApi(nodeHost)
  for (const begun of [login('content-length: 100\r\n', '{"id":'), login('transfer-encoding: chunked\r\n', '5\r\n{"id"')]) {
    const socket = connect(Number(new URL(api.origin).port), '127.0.0.1')
    socket.on('error', () => undefined).write(begun)
    socket.destroySoon()
    await once(socket.resume(), 'close')
  }
  await expectSound(api)
})

describe('random bytes', () => {
  it('get only valid HTTP answers', async () => {
    await using api = await createTestApi(nodeHost)
    const random = createRandom(20261121)
    const pieces = Array.from({ length: 1000 }, () => garbage(random))
    const { hostname, port } = new URL(api.origin)
    // The client closes after sending, so an incomplete request costs no time.
    const send = async (bytes: Buffer): Promise<string> => {
      const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: false })
      const pieces: string[] = []
      socket.setEncoding('latin1').on('data', (data) => pieces.push(data.toString()))
      socket.on('error', () => undefined).end(bytes)
      await new Promise((resolve) => socket.once('close', resolve))
      return pieces.join('')
    }
    for (let at = 0; at < pieces.length; at += 50) {
      const answers = await Promise.all(pieces.slice(at, at + 50).map(send))
      for (const [index, answer] of answers.entries()) {
        const where = JSON.stringify(pieces[at + index]?.toString('latin1'))
        const statuses = [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
        const wrong = statuses.filter((status) => ![100, 200, 400, 403, 404, 405, 413, 417, 429, 431].includes(status))
        expect([where, wrong]).toEqual([where, []])
        expect(answer).not.toMatch(NEVER)
      }
    }
    await expectSound(api)
  })
})

const SHORT = { headersTimeoutMs: 200, requestTimeoutMs: 400, keepAliveTimeoutMs: 200, checkIntervalMs: 50 }

describe('the limits of the HTTP server', () => {
  const shared = useTestApi()

  /** The API on the Node host with limits that a test can reach; the address times four, because the client is this host. */
  const serve = async (limits: Parameters<typeof createHttpServer>[0]['limits'], trustProxy = false): Promise<string> => {
    const { app, deps } = shared()
    const server = createHttpServer({ app, trustProxy, log: deps.log, ...(limits && { limits }) }).listen(0, '127.0.0.1')
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
  const openMany = (count: number, origin: string) => Promise.all(Array.from({ length: count }, () => open(origin)))
  const statusOf = async (origin: string) => (await fetch(`${origin}/svc/version`)).status
  /** Of a connection of its own; undefined when it was closed. */
  const statusOnce = async (origin: string) => (await sendRaw(origin, version('connection: close\r\n'))).statuses[0]

  it('refuse a URL that is longer', async () => {
    const origin = await serve({ urlBytes: 100 })
    const answer = await fetch(`${origin}/svc/healthz?${'a'.repeat(100)}`)
    const message = 'The URL of the request is too long. Use at most 100 bytes.'
    expect([answer.status, await answer.json()]).toMatchObject([400, { message }])
    expect((await fetch(`${origin}/svc/healthz`)).status).toBe(200)
  })

  it('answer 408 to an unfinished request and close idle connections', async () => {
    const origin = await serve(SHORT)
    const sent = [`GET /svc/version HTTP/1.1\r\n${HOST}`, login('content-length: 100\r\n', '{'), '']
    const [head, ...others] = await Promise.all(sent.map((bytes) => sendRaw(origin, bytes)))
    expect([head?.statuses, head?.text]).toEqual([[408], expect.stringContaining('The request took too long to arrive.')])
    // Both the API and the HTTP server may end these; there must be one answer.
    for (const { statuses } of others) expect([[], [408]]).toContainEqual(statuses)
    await expectSound(shared())
  })

  it('close all silent connections while others are served', async () => {
    const origin = await serve(SHORT)
    // Fewer than the listen backlog of 511: the kernel drops connections beyond it silently.
    const sockets = await openMany(300, origin)
    let closed = 0
    for (const socket of sockets) socket.resume().once('close', () => (closed += 1))
    while (closed < sockets.length) expect(await statusOf(origin)).toBe(200)
  })

  it('serve others while 300 clients send one byte at a time', async () => {
    const origin = await serve({ ...SHORT, headersTimeoutMs: 1000, requestTimeoutMs: 1500 })
    const sockets = await openMany(300, origin)
    // A byte may meet a connection that was just closed, whose error `once` of node:events would take for a failure.
    const closed = Promise.all(sockets.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve))))
    const text = version()
    let at = 0
    const drip = setInterval(() => {
      for (const socket of sockets) if (socket.writable) socket.write(text[at % 20] ?? '')
      at += 1
    }, 20)
    onTestFinished(() => clearInterval(drip))
    for (let count = 0; count < 20; count += 1) expect(await statusOf(origin)).toBe(200)
    await closed
    expect(await statusOf(origin)).toBe(200)
  })

  it('drop connections beyond the limit, and accept new ones when others have closed', async () => {
    const origin = await serve({ connections: 20 })
    const sockets = await openMany(20, origin)
    expect(await statusOnce(origin)).toBeUndefined()
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => statusOnce(origin)).toBe(200)
  })

  it('close further connections of one address, which is logged once, and none of a trusted proxy', async () => {
    const origin = await serve({ connectionsPerAddress: 2 })
    const sockets = await openMany(8, origin)
    const refused = () => shared().logged.filter(({ event }) => event === 'connection_refused').length
    expect([await statusOnce(origin), await statusOnce(origin), refused()]).toEqual([undefined, undefined, 1])
    sockets[0]?.destroy()
    await expect.poll(() => statusOnce(origin)).toBe(200)
    const proxied = await serve({ connectionsPerAddress: 2 }, true)
    await openMany(20, proxied)
    expect(await statusOnce(proxied)).toBe(200)
  })
})

interface RawAnswer {
  readonly statuses: readonly number[]
  readonly text: string
}

/** Sends raw bytes and reads until the server closes or `enough` answers came. */
const sendRaw = (origin: string, bytes: string | Buffer, enough = Number.POSITIVE_INFINITY): Promise<RawAnswer> =>
  new Promise((resolve) => {
    const { hostname, port } = new URL(origin)
    const socket = connect({ host: hostname, port: Number(port) })
    let text = ''
    const finish = (): void => resolve({ statuses: statusesOf(text), text })
    socket.setEncoding('latin1').on('data', (data) => {
      text += data
      if (completeAnswers(text) >= enough) socket.destroy()
    })
    // The server may answer and reset the connection before it has read everything.
    socket.on('error', () => undefined).once('close', finish)
    socket.write(bytes)
  })

const statusesOf = (text: string): number[] => [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))

/** Counts answers whose body is complete, chunked or of a known length. */
const completeAnswers = (text: string): number =>
  text.split(/^(?=HTTP\/1\.1 )/m).filter((answer) => {
    const [head = '', body = ''] = [answer.slice(0, answer.indexOf('\r\n\r\n')), answer.slice(answer.indexOf('\r\n\r\n') + 4)]
    const length = /^content-length: (\d+)/im.exec(head)?.[1]
    if (!answer.includes('\r\n\r\n') || /^HTTP\/1\.1 1/.test(answer)) return false
    return length === undefined ? body.endsWith('0\r\n\r\n') : body.length >= Number(length)
  }).length
