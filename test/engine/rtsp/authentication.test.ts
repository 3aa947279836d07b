import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Publication, Publisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { gstDecode } from '../../helpers/media/players.ts'
import { basic, digest } from '../../helpers/rtsp/credentials.ts'
import { inOrder, readIndependently } from '../../helpers/rtsp/independent-client.ts'
import { connected as connectedTo, playing as playingAt, publish, sharedMedia } from '../../helpers/rtsp/publish.ts'
import type { connectReader, RtspReader } from '../../helpers/rtsp/reader.ts'

const run = promisify(execFile)

/** Characters that clients have to escape in a URL. */
const PASSWORD = 'p@ss:w/rd "ü" 1'
const right = () => digest({ password: PASSWORD })
const wrong = () => digest({ password: 'another password' })

const media = sharedMedia()
let publisher: Publisher
let mount: Publication
let url: string
let described: number

beforeEach(async () => {
  described = 0
  const onDescribe = (): undefined => {
    described += 1
  }
  const published = await publish(media.streams, { at: '0.0.0.0', mount: { onDescribe } })
  ;({ publisher, mount, url } = published)
  publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
})

const connected = (options: ReaderOptions = {}) => connectedTo(url, options)
const playing = (options: ReaderOptions = {}) => playingAt(url, options)

type ReaderOptions = NonNullable<Parameters<typeof connectReader>[1]>
const TCP = { Transport: 'RTP/AVP/TCP;unicast;interleaved=0-1' }
/** The URL with user name and password. */
const withCredentials = (password: string) => url.replace('//', `//viewer:${encodeURIComponent(password)}@`)

const ffmpeg = (address: string, transport: string) =>
  run('ffmpeg', ['-nostdin', '-v', 'error', '-rtsp_transport', transport, '-i', address, '-frames:v', '30', '-f', 'null', '-'], {
    timeout: 25_000,
  })
const gstreamer = (password: string, protocols: string) =>
  gstDecode(url, 30, 'h264', [`protocols=${protocols}`, 'user-id=viewer', `user-pw=${password}`])

describe('a password for readers', () => {
  it('is asked for by DESCRIBE, SETUP and PLAY, as Digest with SHA-256 first, whether the path exists or not', async () => {
    const reader = await connected()
    for (const [method, path, headers] of [
      ['DESCRIBE', '', {}],
      ['SETUP', '/stream=0', TCP],
      ['PLAY', '', {}],
      ['PLAY', '', { Session: 'unknown' }],
      ['DESCRIBE', 'era-7', {}],
    ] as const) {
      const response = await reader.request(method, `${url}${path}`, headers)
      expect([response.status, response.body.length]).toEqual([401, 0])
      expect(response.headers.all('www-authenticate').map((value) => value.replace(/nonce="[\w-]{24}"/, 'NONCE'))).toEqual([
        'Digest realm="video-pipeline-service", NONCE, algorithm=SHA-256, qop="auth"',
        'Digest realm="video-pipeline-service", NONCE, algorithm=MD5, qop="auth"',
      ])
    }
    expect([reader.count, described, mount.readers]).toEqual([0, 0, 0])
  })

  it('leaves OPTIONS and keepalives free', async () => {
    const reader = await connected()
    for (const method of ['OPTIONS', 'GET_PARAMETER', 'SET_PARAMETER']) expect((await reader.request(method)).status).toBe(200)
  })

  it.each([
    ['SHA-256 and qop', digest({ password: PASSWORD, algorithm: 'SHA-256', qop: true })],
    ['MD5 and qop', digest({ password: PASSWORD, qop: true })],
    ['MD5 as in RFC 2069', digest({ password: PASSWORD })],
  ])('admits Digest with %s, with one nonce for all requests, over TCP and UDP', async (_, authorize) => {
    for (const transport of ['tcp', 'udp'] as const) {
      const reader = await playing({ authorize, transport })
      await reader.until(() => reader.count > 40)
      expect(reader.count).toBeGreaterThan(40)
    }
  })

  // What else is refused: see the tests of the authenticator.
  it.each([
    ['a wrong password', wrong()],
    ['another user name', digest({ username: 'admin', password: PASSWORD })],
    ['Basic in the clear', basic(PASSWORD)],
    ['a header without parameters', () => 'Digest '],
  ])('refuses %s', async (_, authorize) => {
    const reader = await connected({ authorize, transport: 'udp' })
    const answers = [await reader.request('DESCRIBE', url), await reader.setUp(0), await reader.play()]
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401])
    expect([reader.count, described]).toEqual([0, 0])
  })

  it('cannot be replayed: neither on the same connection nor on another one', async () => {
    const [reader, other] = [await connected(), await connected()]
    const challenges = (await reader.request('DESCRIBE', url)).headers.all('www-authenticate')
    const headers = { Authorization: digest({ password: PASSWORD, qop: true })(challenges, 'DESCRIBE', url) }
    expect((await reader.request('DESCRIBE', url, headers)).status).toBe(200)
    for (const replaying of [reader, other]) {
      const again = await replaying.request('DESCRIBE', url, headers)
      expect([again.status, again.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('stale=true')])
    }
  })

  it('is checked for each of several requests that are sent at once', async () => {
    const reader = await connected()
    const requests = [
      `DESCRIBE ${url} RTSP/1.0\r\nCSeq: 1\r\n\r\n`,
      `SETUP ${url}/stream=0 RTSP/1.0\r\nCSeq: 2\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n`,
      `PLAY ${url} RTSP/1.0\r\nCSeq: 3\r\n\r\n`,
    ]
    const responses = requests.map(() => reader.nextResponse())
    reader.write(requests.join(''))
    expect((await Promise.all(responses)).map(({ status }) => status)).toEqual([401, 401, 401])
    expect([reader.count, mount.readers]).toEqual([0, 0])
  })

  it('protects the session that an admitted reader has opened on another connection', async () => {
    const admitted = await connected({ authorize: right() })
    await admitted.describe()
    await admitted.setUp(0)
    const session = admitted.session ?? ''
    const stranger = await connected()
    expect((await stranger.request('PLAY', url, { Session: session })).status).toBe(401)
    const other = await connected({ authorize: right() })
    expect((await other.request('PLAY', url, { Session: session })).status).toBe(454)
    expect([stranger.count, other.count, admitted.count]).toEqual([0, 0, 0])
  })

  it('is needed for PLAY too when SETUP had it', async () => {
    const reader = await connected({ authorize: right() })
    await reader.describe()
    await reader.setUp(0)
    expect((await reader.request('PLAY', url, { Authorization: 'Digest x="y"' })).status).toBe(401)
    expect(reader.count).toBe(0)
  })
})

describe('a change of the password', () => {
  const NEW = 'the new password'

  it('disconnects those who play, those who have set up, and those who have only connected', async () => {
    const [player, overUdp, waiting, idle] = [
      await playing({ authorize: right() }),
      await playing({ authorize: right(), transport: 'udp' }),
      await connected({ authorize: right() }),
      await connected(),
    ]
    await waiting.describe()
    await waiting.setUp(0)
    await player.until(() => player.count > 10)
    await overUdp.until(() => overUdp.count > 10)
    publisher.requireCredentials({ username: 'viewer', password: NEW })
    const played = waiting.play().then(
      () => 'played',
      () => 'closed',
    )
    await Promise.all([player, overUdp, waiting, idle].map((reader) => reader.closed))
    expect([await played, waiting.count, mount.readers]).toEqual(['closed', 0, 0])
    await expect.poll(() => publisher.connections).toBe(0)
    // RTCP BYE (203) comes last.
    expect(player.reports.at(-1)?.data.includes(Buffer.from([0x81, 203]))).toBe(true)
    expect((await (await connected({ authorize: right() })).describe()).status).toBe(401)
    expect((await (await connected({ authorize: digest({ password: NEW }) })).describe()).status).toBe(200)
  })

  it('disconnects when it is switched on, and not when it is sent again, or switched off', async () => {
    publisher.requireCredentials(undefined)
    const open = await playing()
    publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
    await open.closed
    const reader = await playing({ authorize: right() })
    publisher.requireCredentials({ username: 'viewer', password: PASSWORD })
    publisher.requireCredentials(undefined)
    const before = reader.count
    await reader.until(() => reader.count > before + 30)
    const free = await playing()
    await free.until(() => free.count > 10)
    expect(free.count).toBeGreaterThan(10)
  })
})

describe('wrong credentials', () => {
  const guess = async (reader: RtspReader) => {
    const challenges = (await reader.request('DESCRIBE', url)).headers.all('www-authenticate')
    return reader.request('DESCRIBE', url, { Authorization: wrong()(challenges, 'DESCRIBE', url) })
  }

  it('close the connection at the tenth failure of an address within a minute, and are not tried until it is over', async () => {
    const [first, second] = [await connected(), await connected()]
    for (let failure = 1; failure <= 6; failure += 1) expect((await guess(first)).status).toBe(401)
    for (let failure = 7; failure <= 9; failure += 1) expect((await guess(second)).status).toBe(401)
    const last = await guess(second)
    expect([last.status, last.headers.get('connection')]).toEqual([401, 'close'])
    await second.closed
    const late = await connected({ authorize: right() })
    const refused = await late.request('DESCRIBE', url)
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    await late.closed
    const elsewhere = await connected({ authorize: right(), from: '127.0.0.2' })
    expect((await elsewhere.describe()).status).toBe(200)
  })

  it('do not disturb readers of the same address that play', async () => {
    const steady = await playing({ authorize: right() })
    const guessing = await connected()
    for (let failure = 1; failure <= 10; failure += 1) await guess(guessing)
    await guessing.closed
    const before = steady.count
    await steady.until(() => steady.count > before + 30)
    expect(steady.count).toBeGreaterThan(before + 30)
  })
})

describe('players', () => {
  it.each(['tcp', 'udp'])('ffmpeg reads over %s with the password, and nothing with a wrong one', async (transport) => {
    await expect(ffmpeg(withCredentials(PASSWORD), transport)).resolves.toBeDefined()
    await expect(ffmpeg(withCredentials('another password'), transport)).rejects.toThrow('401 Unauthorized')
    await expect(ffmpeg(url, transport)).rejects.toThrow('401 Unauthorized')
  })

  it.each(['tcp', 'udp', 'tcp+udp+udp-mcast'])(
    'GStreamer reads with protocols=%s and the password, and not with a wrong one',
    async (protocols) => {
      expect(await gstreamer(PASSWORD, protocols)).toBe(30)
      await expect(gstreamer('another password', protocols)).rejects.toThrow('Unauthorized')
    },
  )

  it('an independent client reads with Digest', async () => {
    const { format, sequences } = await readIndependently(url, 100, { username: 'viewer', password: PASSWORD })
    expect(format).toBe('H264')
    expect(sequences.length).toBeGreaterThanOrEqual(100)
    expect(sequences).toSatisfy(inOrder)
  })
})
