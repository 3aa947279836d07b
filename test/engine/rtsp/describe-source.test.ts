import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAddress } from '../../../engine/faults/address.ts'
import { describeSource } from '../../../engine/rtsp/client/describe-source.ts'
import { parseSource } from '../../../engine/sources/kinds.ts'
import { type CertificateFixture, makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'

const never = new AbortController().signal
const probe = async (uri: string, timeoutMs = 10_000, signal = never) => {
  const { kind, parsed } = parseSource({ uri, latency_ms: 0 })
  return kind.probe(parsed, { signal, timeoutMs, allowFiles: false, reencode: false })
}

const mediaAt = async (uri: string) => (await describeSource(parseAddress(uri), { signal: never, timeoutMs: 5000 })).sdp.media

describe('a third-party RTSP server', () => {
  let digest: RtspSource
  let basic: RtspSource
  let hanging: RtspSource

  beforeAll(async () => {
    ;[digest, basic, hanging] = await Promise.all([
      startRtspSource(['--auth', 'digest']),
      startRtspSource(['--auth', 'basic']),
      startRtspSource(['--hang']),
    ])
  })
  afterAll(() => Promise.all([digest, basic, hanging].map((source) => source.stop())))

  it('describes codec, KLV track and frame rate, with Digest', async () => {
    expect(await probe(digest.url('/klv', 'user:secret'))).toMatchObject({
      video: 'H264',
      klv: true,
      frameRate: 30,
    })
  })

  it('accepts Basic', async () => {
    expect(await probe(basic.url('/h264', 'user:secret'))).toMatchObject({ video: 'H264', klv: false })
  })

  it.each([
    ['no credentials', '', /requires a user name and password \(401\)\. Put them into source\.uri in front of the host, as user:password@/],
    ['wrong credentials', 'user:hunter2', /rejects the user name or password in source\.uri \(401\)/],
  ])('fails with %s, and the message shows none', async (_what, userInfo, message) => {
    for (const source of [digest, basic]) {
      const failure = probe(source.url('/h264', userInfo))
      await expect(failure).rejects.toMatchObject({ reason: 'unauthorized', message: expect.stringMatching(message) })
      await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining('hunter2') })
    }
  })

  it('answers not_found for an unknown path', async () => {
    await expect(probe(digest.url('/nope', 'user:secret'))).rejects.toMatchObject({ reason: 'not_found' })
  })

  it('answers unsupported for a stream without video', async () => {
    await expect(probe(digest.url('/audio', 'user:secret'))).rejects.toMatchObject({ reason: 'unsupported' })
  })

  it('times out when the server never answers', async () => {
    await expect(probe(hanging.url('/h264'), 300)).rejects.toMatchObject({ reason: 'timeout' })
  })

  it('ends at once when it is cancelled', async () => {
    const abort = new AbortController()
    const failure = probe(hanging.url('/h264'), 60_000, abort.signal)
    abort.abort()
    await expect(failure).rejects.toThrow()
  })
})

describe('a server with TLS and a self-signed certificate', () => {
  let certificate: CertificateFixture
  let source: RtspSource

  beforeAll(async () => {
    certificate = makeCertificate()
    source = await startRtspSource(['--tls', certificate.cert, certificate.key, '--auth', 'digest'])
  })
  afterAll(async () => {
    await source?.stop()
    certificate.remove()
  })

  it('is described over TLS', async () => {
    expect(await probe(source.url('/h264', 'user:secret'))).toMatchObject({ video: 'H264' })
  })
})

describe('a server with unusual behaviour', () => {
  const servers: Server[] = []
  const sockets = new Set<Socket>()

  /** A server that answers the n-th request on any connection with the n-th text, then closes the connection if `closes`. */
  const serve = async (answers: readonly string[], closes = false): Promise<string> => {
    let count = 0
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('data', () => {
        const answer = answers[Math.min(count, answers.length - 1)] ?? ''
        count += 1
        if (closes) socket.end(answer)
        else socket.write(answer)
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    servers.push(server)
    return `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    for (const server of servers) server.close()
  })

  const body = 'v=0\r\ns=x\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n'
  const good = `RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Type: application/sdp\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  const challenge =
    'RTSP/1.0 401 Unauthorized\r\nCSeq: 1\r\nWWW-Authenticate: Digest realm="r", nonce="n", algorithm=SHA-256, qop="auth"\r\n\r\n'

  it('gets the credentials on a new connection when it closes after the 401', async () => {
    const host = await serve([challenge, good], true)
    expect(await mediaAt(`rtsp://u:p@${host}/x`)).toHaveLength(1)
  })

  it('gets the credentials again for a stale nonce', async () => {
    const host = await serve([challenge, challenge.replace('qop', 'stale=true, qop'), good])
    expect(await mediaAt(`rtsp://u:p@${host}/x`)).toHaveLength(1)
  })

  it('is followed through a redirect, but not in circles', async () => {
    const target = await serve([good])
    const host = await serve([`RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: rtsp://${target}/y\r\n\r\n`])
    expect(await mediaAt(`rtsp://${host}/x`)).toHaveLength(1)
    const circle = await serve(['RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: /x\r\n\r\n'])
    await expect(mediaAt(`rtsp://${circle}/x`)).rejects.toMatchObject({ reason: 'source_error' })
  })

  // Other answers: see the tests of the message parser, of redirects and of statuses.
  it.each([
    ['a failure', 'RTSP/1.0 503 Service Unavailable\r\nCSeq: 1\r\n\r\n', 'source_error'],
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'source_error'],
    ['an invalid session description', 'RTSP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 'source_error'],
    ['a redirect to another protocol', 'RTSP/1.0 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n', 'unsupported'],
    ['silence', '', 'timeout'],
  ])('is classified by %s', async (_what, answer, reason) => {
    const host = await serve([answer])
    await expect(probe(`rtsp://${host}/x`, 400)).rejects.toMatchObject({ reason })
  })

  it('is a source_error when it closes the connection without an answer', async () => {
    const host = await serve([''], true)
    await expect(probe(`rtsp://${host}/x`)).rejects.toMatchObject({ reason: 'source_error' })
  })

  it('is unreachable at a port where nothing listens and at a name without address', async () => {
    const host = await serve([good])
    const server = servers.at(-1)
    await new Promise((resolve) => server?.close(resolve))
    await expect(probe(`rtsp://${host}/x`)).rejects.toMatchObject({
      reason: 'unreachable',
      message: expect.stringContaining('refuses the connection'),
    })
    await expect(probe('rtsp://no.such.host.invalid/x')).rejects.toMatchObject({ reason: 'unreachable' })
  })
})
