import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { unlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Log } from '../../../lib/ports.ts'
import { type CertificateFixture, makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { basic, digest } from '../../helpers/rtsp/credentials.ts'
import { inOrder, readIndependently } from '../../helpers/rtsp/independent-client.ts'
import { type Media, silentLog } from '../../helpers/rtsp/media.ts'
import { connected, playing, publish as publishStreams, sharedMedia } from '../../helpers/rtsp/publish.ts'
import { sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { until } from '../../helpers/until.ts'

const run = promisify(execFile)
const PASSWORD = 'correct horse'

const media = sharedMedia()
let certificate: CertificateFixture
beforeEach(() => {
  certificate = makeCertificate()
})
afterEach(() => certificate.remove())

const publish = async (required = false, log: Log = silentLog, source: Pick<Media, 'streams'> = media) => {
  const { cert, key } = certificate
  const tls = { files: { cert, key }, required }
  const { publisher, port, url } = await publishStreams(source.streams, { log, tls, limits: { firstRequestMs: 1500 } })
  return { publisher, port, plain: url, secure: url.replace('rtsp', 'rtsps') }
}

/** The common name of the certificate that a port shows. */
const nameAt = async (port: number): Promise<unknown> => {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    return socket.getPeerCertificate().subject.CN
  } finally {
    socket.destroy()
  }
}

describe('an output with a certificate', () => {
  it('serves rtsps and rtsp on one port, without a gap', async () => {
    const { plain, secure } = await publish()
    for (const url of [secure, plain]) {
      const reader = await playing(url)
      await reader.until(() => reader.count > 60)
      expect(sequenceGaps(reader.packets)).toEqual([])
    }
    const overUdp = await playing(plain, { transport: 'udp' })
    await overUdp.until(() => overUdp.count > 10)
  })

  it('names rtsps in its answers inside TLS, so that players stay there', async () => {
    const { secure } = await publish()
    const reader = await connected(secure)
    expect((await reader.describe()).headers.get('content-base')).toBe(`${secure}/`)
    await reader.setUp(0)
    expect((await reader.play()).headers.get('rtp-info')).toContain(`url=${secure}/stream=0`)
  })

  it('refuses UDP inside TLS, since it would not be encrypted', async () => {
    const { secure } = await publish()
    const reader = await connected(secure, { transport: 'udp' })
    await reader.describe()
    expect((await reader.setUp(0)).status).toBe(461)
    const both = 'RTP/AVP;unicast;client_port=5000-5001,RTP/AVP/TCP;unicast;interleaved=0-1'
    const chosen = await reader.request('SETUP', `${secure}/stream=0`, { Transport: both })
    expect(chosen.headers.get('transport')).toMatch(/^RTP\/AVP\/TCP;unicast;interleaved=0-1;/)
  })

  it('refuses plain RTSP with 403 when TLS is required', async () => {
    const { plain, secure } = await publish(true)
    for (const method of ['OPTIONS', 'DESCRIBE', 'SETUP', 'PLAY']) {
      const reader = await connected(plain)
      expect((await reader.request(method)).status).toBe(403)
      await reader.closed
    }
    const reader = await playing(secure)
    await reader.until(() => reader.count > 10)
  })

  // Basic in the clear: see the tests of the authenticator.
  it('accepts Digest and Basic inside TLS', async () => {
    const { publisher, secure } = await publish()
    publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
    const challenges = (await (await connected(secure)).request('DESCRIBE', secure)).headers.all('www-authenticate')
    expect(challenges.map((text) => /algorithm=[^,]+|^Basic .*/.exec(text)?.[0])).toEqual([
      'algorithm=SHA-256',
      'algorithm=MD5',
      'Basic realm="video-pipeline-service"',
    ])
    for (const authorize of [
      digest({ password: PASSWORD, algorithm: 'SHA-256', qop: true }),
      digest({ password: PASSWORD }),
      basic(PASSWORD),
    ]) {
      const reader = await playing(secure, { authorize })
      await reader.until(() => reader.count > 10)
    }
  })

  it('uses a new certificate for new connections as soon as the files are there, and keeps the old one while they are wrong', async () => {
    const logged: string[] = []
    const note = (event: string) => void logged.push(event)
    const { port, secure } = await publish(false, { debug: () => {}, info: note, warn: note, error: note })
    expect(await nameAt(port)).toBe('first')
    const steady = await playing(secure)
    writeFileSync(certificate.key, 'not a key')
    await until(
      async () => {
        expect(await nameAt(port)).toBe('first')
        return logged.includes('output_certificate_not_loaded')
      },
      (noticed) => noticed,
    )
    expect(await nameAt(port)).toBe('first')
    certificate.renew('second')
    await expect.poll(() => nameAt(port)).toBe('second')
    expect(logged.filter((event) => event === 'output_certificate_not_loaded')).toHaveLength(1)
    const before = steady.count
    await steady.until(() => steady.count > before + 30)
  })

  it('closes TLS connections while it has no certificate, and goes on with plain RTSP', async () => {
    const logged: string[] = []
    unlinkSync(certificate.key)
    const { port, plain } = await publish(false, { ...silentLog, error: (event) => void logged.push(event) })
    await expect(nameAt(port)).rejects.toThrow()
    await expect.poll(() => logged.length).toBeGreaterThan(0)
    expect(logged).toEqual(['output_certificate_not_loaded'])
    expect((await (await connected(plain)).describe()).status).toBe(200)
  })

  it.each([
    ['sends nothing', ''],
    ['begins a handshake only', '\x16\x03\x01'],
    ['breaks the handshake', `\x16\x03\x01${'x'.repeat(500)}`],
  ])('drops a connection that %s', async (_, bytes) => {
    const { port, publisher } = await publish()
    const socket = connectTcp(port, '127.0.0.1').on('error', () => {})
    const closed = once(socket, 'close')
    socket.resume()
    if (bytes !== '') socket.write(bytes, 'latin1')
    await closed
    expect(publisher.connections).toBe(0)
  })

  it('closes handshakes in progress and TLS connections with the publisher', async () => {
    const { port, publisher, secure } = await publish()
    const reader = await playing(secure)
    const silent = connectTcp(port, '127.0.0.1').on('error', () => {})
    await once(silent, 'connect')
    const closed = once(silent, 'close')
    silent.resume()
    await publisher.close()
    await Promise.all([reader.closed, closed])
    expect(publisher.connections).toBe(0)
  })
})

describe('players over rtsps', () => {
  it('ffmpeg reads with the password', async () => {
    const { publisher, secure } = await publish(true)
    publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
    const read = (password: string) => {
      const address = secure.replace('//', `//viewer:${encodeURIComponent(password)}@`)
      return run('ffmpeg', ['-nostdin', '-v', 'error', '-i', address, '-frames:v', '30', '-f', 'null', '-'], { timeout: 25_000 })
    }
    await expect(read(PASSWORD)).resolves.toBeDefined()
    await expect(read('wrong password')).rejects.toThrow('401 Unauthorized')
  })

  it('GStreamer reads with the password, and verifies the certificate', async () => {
    const { publisher, secure } = await publish(true)
    publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
    const read = (flags: string) => {
      const source = [
        'rtspsrc',
        `location=${secure}`,
        'user-id=viewer',
        `user-pw=${PASSWORD}`,
        `tls-validation-flags=${flags}`,
        'latency=50',
      ]
      const line = [...source, '!', 'rtph264depay', '!', 'avdec_h264', '!', 'identity', 'eos-after=30', '!', 'fakesink']
      return run('gst-launch-1.0', ['-q', ...line], { timeout: 25_000 })
    }
    await expect(read('0')).resolves.toBeDefined()
    await expect(read('validate-all')).rejects.toThrow(/TLS/i)
  })

  it('an independent client reads through a TLS tunnel with Digest', async () => {
    const { publisher, port } = await publish(true)
    publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
    // The client has no TLS of its own.
    const tunnel = createServer((near) => {
      const far = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false })
      for (const socket of [near, far]) socket.on('error', () => {}).on('close', () => [near, far].map((end) => end.destroy()))
      near.pipe(far).pipe(near)
    }).listen(0, '127.0.0.1')
    await once(tunnel, 'listening')
    const url = `rtsp://127.0.0.1:${(tunnel.address() as AddressInfo).port}/cam`
    const { format, sequences } = await readIndependently(url, 100, { username: 'viewer', password: PASSWORD })
    tunnel.close()
    expect(format).toBe('H264')
    expect(sequences.length).toBeGreaterThanOrEqual(100)
    expect(sequences).toSatisfy(inOrder)
  })
})
