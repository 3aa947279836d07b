import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { MediaPipe } from '../../../engine/ingest/media-pipe.ts'
import type { PublisherLimits } from '../../../engine/mount/limits.ts'
import type { MountOptions } from '../../../engine/mount/mount-point.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import type { Publication } from '../../../engine/rtsp/publisher/publisher.ts'
import { h264Media, silentLog, startMedia } from '../../helpers/rtsp/media.ts'
import { capsOf } from '../../helpers/rtsp/packets.ts'
import { connected, playing, publish as publishStreams, sharedMedia } from '../../helpers/rtsp/publish.ts'
import { openReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { until as poll } from '../../helpers/until.ts'

const media = sharedMedia()
const publish = (mount: Partial<MountOptions> = {}, limits: Partial<PublisherLimits> = {}, at = '127.0.0.1') =>
  publishStreams(mount.streams ?? media.streams, { mount: { describeTimeoutMs: () => 5000, ...mount }, limits, at })

/** Polls until the condition holds. */
const until = (condition: () => boolean) => poll(condition, (holds) => holds)

/** What a publisher logs about the connections that it drops. */
const dropLog = () => {
  const dropped: unknown[] = []
  return { dropped, log: { ...silentLog, info: (event: string, fields?: object) => void dropped.push({ event, ...fields }) } }
}

const videoCaps = (name: string, more = '') =>
  capsOf(`application/x-rtp, media=(string)video, clock-rate=(int)90000, encoding-name=(string)${name}, payload=(int)96${more}`)

/** Another program that listens, on a free port unless one is given. */
const listenAt = async (at = 0) => {
  const server = createServer().listen(at, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    await once(server, 'close')
  }
  return { port: (server.address() as AddressInfo).port, close }
}

describe('the RTSP dialogue', () => {
  it('follows RFC 2326 from OPTIONS to TEARDOWN', async () => {
    const { url, mount } = await publish()
    const client = await connected(url)
    const options = await client.request('OPTIONS')
    expect(options.headers.get('public')).toBe('OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER, SET_PARAMETER')
    expect([options.headers.get('cseq'), options.headers.get('server')]).toEqual(['1', 'video-pipeline-service'])
    expect(Number.isNaN(Date.parse(options.headers.get('date') ?? ''))).toBe(false)
    const { status, headers } = await client.describe()
    expect([status, headers.get('content-type'), headers.get('content-base')]).toEqual([200, 'application/sdp', `${url}/`])
    expect(client.description).toMatch(
      /m=video 0 RTP\/AVP 96\r\na=rtpmap:96 H264\/90000\r\na=fmtp:96 packetization-mode=1;sprop-parameter-sets=\S+\r\n[\s\S]*a=control:stream=0\r\n$/,
    )
    const setup = await client.setUp(0)
    expect(setup.headers.get('transport')).toMatch(/^RTP\/AVP\/TCP;unicast;interleaved=0-1;ssrc=[0-9A-F]{8};mode="PLAY"$/)
    expect(setup.headers.get('session')).toMatch(/^[0-9a-f]{32};timeout=60$/)
    expect(mount.readers).toBe(0)
    const played = await client.play()
    expect([played.headers.get('range'), mount.readers]).toEqual(['npt=now-', 1])
    await client.until(() => client.count > 30 && client.reports.length > 0)
    const [first] = client.packets
    const info = /url=(\S+);seq=(\d+);rtptime=(\d+)/.exec(played.headers.get('rtp-info') ?? '')
    expect(info?.slice(1)).toEqual([`${url}/stream=0`, String(first?.sequence), String(first?.timestamp)])
    for (const method of ['GET_PARAMETER', 'SET_PARAMETER', 'OPTIONS']) expect((await client.request(method)).status).toBe(200)
    expect((await client.request('PAUSE')).status).toBe(200)
    const paused = client.count
    expect([(await client.request('OPTIONS')).status, client.count, mount.readers]).toEqual([200, paused, 1])
    expect((await client.request('PLAY')).status).toBe(200)
    await client.until(() => client.count > paused + 20)
    expect((await client.request('TEARDOWN')).status).toBe(200)
    await until(() => mount.readers === 0)
    expect(mount.stats.bytesOut).toBeGreaterThan(1000)
  })

  it.each([
    ['a path that is not mounted', 'DESCRIBE', 'rtsp://127.0.0.1/other', {}, 404],
    ['an unknown track', 'SETUP', 'rtsp://127.0.0.1/cam/stream=7', { Transport: 'RTP/AVP/TCP' }, 404],
    ['a URL of another scheme', 'DESCRIBE', 'http://127.0.0.1/cam', {}, 400],
    ['multicast', 'SETUP', 'rtsp://127.0.0.1/cam/stream=0', { Transport: 'RTP/AVP;multicast' }, 461],
    ['a missing transport', 'SETUP', 'rtsp://127.0.0.1/cam/stream=0', {}, 461],
    ['an unknown session', 'PLAY', 'rtsp://127.0.0.1/cam', { Session: 'x' }, 454],
    ['PLAY without a session', 'PLAY', 'rtsp://127.0.0.1/cam', {}, 454],
    ['a keepalive of an unknown session', 'GET_PARAMETER', 'rtsp://127.0.0.1/cam', { Session: 'x' }, 454],
    ['a recording method', 'ANNOUNCE', 'rtsp://127.0.0.1/cam', {}, 405],
    ['an unknown method', 'FROBNICATE', 'rtsp://127.0.0.1/cam', {}, 501],
    ['an unsupported option', 'OPTIONS', '*', { Require: 'implicit-play' }, 551],
    ['an unsupported description type', 'DESCRIBE', 'rtsp://127.0.0.1/cam', { Accept: 'text/html' }, 406],
    ['a missing sequence number', 'OPTIONS', '*', { CSeq: '' }, 400],
  ])('rejects %s with the status of RFC 2326', async (_, method, target, headers, status) => {
    const { url } = await publish()
    const client = await connected(url)
    const response = await client.request(method, target, headers)
    expect(response.status).toBe(status)
    if (status === 405) expect(response.headers.get('allow')).toContain('DESCRIBE')
    if (status === 551) expect(response.headers.get('unsupported')).toBe('implicit-play')
    expect((await client.request('OPTIONS')).status).toBe(200)
  })

  it('rejects another version, an unknown parameter, PAUSE before PLAY, and PLAY of another mount', async () => {
    const { url } = await publish()
    const client = await connected(url)
    client.write('OPTIONS * RTSP/2.0\r\nCSeq: 9\r\n\r\n')
    expect((await client.nextResponse()).status).toBe(505)
    await client.describe()
    expect((await client.request('SET_PARAMETER', url, {}, 'volume: 11\r\n')).status).toBe(451)
    expect((await client.setUp(0)).status).toBe(200)
    expect((await client.request('PAUSE')).status).toBe(455)
    expect((await client.request('PLAY', url.replace('cam', 'other'))).status).toBe(404)
  })
})

describe('several mounts', () => {
  it('share a port, and free it when the last one closes', async () => {
    const { publisher, port, mount, mountOptions, url } = await publish()
    const second = await publisher.mount({ host: '127.0.0.1', port, path: 'two' }, mountOptions)
    await expect(publisher.mount({ host: '0.0.0.0', port, path: 'two' }, mountOptions)).rejects.toMatchObject({ code: 'CONFLICT' })
    const [one, two] = [await playing(url), await playing(url.replace('cam', 'two'))]
    await mount.close()
    await one.closed
    await two.until(() => two.count > 40)
    expect((await two.request('DESCRIBE', url)).status).toBe(404)
    await second.close()
    await two.closed
    expect(publisher.listening).toEqual([])
    const { close } = await listenAt(port)
    await close()
  })

  it('listen on IPv4, IPv6, one address or all, as configured', async () => {
    const { publisher, port, mountOptions } = await publish({}, {}, '0.0.0.0')
    const statuses = (...readers: readonly (readonly [host: string, path: string])[]) =>
      Promise.all(readers.map(async ([host, path]) => (await (await connected(`rtsp://${host}:${port}/${path}`)).describe()).status))
    const all = await publisher.mount({ host: '::', port, path: 'all' }, mountOptions)
    const local = await publisher.mount({ host: '127.0.0.1', port, path: 'local' }, mountOptions)
    expect(publisher.listening).toEqual([{ host: '::', port }])
    expect(await statuses(['127.0.0.1', 'cam'], ['127.0.0.2', 'local'], ['127.0.0.1', 'local'])).toEqual([200, 404, 200])
    expect(await statuses(['[::1]', 'all'], ['[::1]', 'cam'], ['127.0.0.1', 'all'])).toEqual([200, 404, 200])
    await all.close()
    expect(publisher.listening).toEqual([{ host: '0.0.0.0', port }])
    await expect(statuses(['[::1]', 'all'])).rejects.toThrow()
    expect(await statuses(['127.0.0.1', 'cam'])).toEqual([200])
    await local.close()
  })

  it('reject a port in use and an address of another machine', async () => {
    const { publisher, mountOptions } = await publish()
    const other = await listenAt()
    const mount = (host: string): Promise<Publication> => publisher.mount({ host, port: other.port, path: 'cam' }, mountOptions)
    await expect(mount('127.0.0.1')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'port_in_use' } })
    await expect(mount('192.0.2.1')).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
    await other.close()
    await (await mount('127.0.0.1')).close()
    await (await listenAt(other.port)).close()
  })
})

describe('a mount', () => {
  it('lets DESCRIBE wait for the first key frame, and calls onDescribe once', async () => {
    const stream = new RtpStream()
    const onDescribe = vi.fn(() => undefined)
    const { url } = await publish({ streams: [stream], onDescribe })
    const described = (await connected(url)).describe()
    await until(() => onDescribe.mock.calls.length === 1)
    const relay = startMedia([h264Media()])
    stream.begin()
    stream.setCaps(videoCaps('H264'))
    const pipe = new MediaPipe(stream)
    relay.child.media[0]?.on('data', (chunk: Buffer) => pipe.ingest(chunk))
    expect((await described).status).toBe(200)
    await relay.stop()
  })

  it('responds 503 when no key frame arrives in time', async () => {
    const { url } = await publish({ streams: [new RtpStream()], describeTimeoutMs: () => 20 })
    expect((await (await connected(url)).describe()).status).toBe(503)
  })

  it('accepts no more readers than its limit, and reports their number', async () => {
    const counts: number[] = []
    const { url } = await publish({ maxReaders: () => 2, onReaders: (count) => counts.push(count) })
    const first = await playing(url)
    await playing(url)
    await expect(openReader(url)).rejects.toThrow('453')
    await first.close()
    await until(() => counts.at(-1) === 1)
    await playing(url)
    expect(counts).toEqual([1, 2, 1, 2])
  })

  it('disconnects its readers with RTCP BYE', async () => {
    const { url, mount } = await publish()
    const client = await playing(url)
    await client.until(() => client.count > 0)
    mount.disconnectReaders()
    await client.closed
    expect(client.reports.at(-1)?.data.subarray(-8, -4)).toEqual(Buffer.from([0x81, 203, 0, 1]))
    expect(mount.readers).toBe(0)
  })

  it('keeps its readers when parameter sets change, and disconnects them when the codec changes', async () => {
    const stream = new RtpStream()
    stream.begin()
    stream.setCaps(videoCaps('H264'))
    const { url, mount } = await publish({ streams: [stream], describeTimeoutMs: () => 20 })
    const client = await playing(url)
    stream.setCaps(videoCaps('H264', ', profile-level-id=(string)640028'))
    expect(mount.readers).toBe(1)
    stream.setCaps(videoCaps('H265'))
    await client.closed
    expect(mount.readers).toBe(0)
  })
})

describe('a publisher under attack', () => {
  const OPTIONS = 'OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n'
  const raw = async (port: number, bytes: string | Buffer) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    let received = ''
    socket.on('data', (data) => {
      received += data.toString('latin1')
    })
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    await once(socket, 'connect')
    socket.write(bytes)
    return { socket, closed, received: () => received }
  }

  // What else is no RTSP: see the tests of the message parser.
  it.each([
    ['HTTP', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['an endless line', 'A'.repeat(100_000)],
  ])('closes the connection on %s without a response', async (_, bytes) => {
    const { port, publisher } = await publish()
    const attack = await raw(port, bytes)
    await attack.closed
    expect(attack.received()).toBe('')
    await until(() => publisher.connections === 0)
  })

  it('logs a flooding connection once, however much of the flood it has read', async () => {
    const { dropped, log } = dropLog()
    const { port } = await publishStreams(media.streams, { log })
    await (await raw(port, 'OPTIONS * RTSP/1.0\n\n'.repeat(5000))).closed
    expect(dropped).toEqual([{ event: 'rtsp_dropped', reason: 'too_many_requests', remote: '127.0.0.1' }])
  })

  it('closes silent, slow and flooding connections', async () => {
    const { port, publisher } = await publish({}, { firstRequestMs: 50, requestsPerSecond: 5, pipelinedRequests: 64 })
    const silent = await raw(port, '')
    const drip = await raw(port, 'OPTIONS * RT')
    const flood = await raw(port, OPTIONS.repeat(2000))
    await Promise.all([silent.closed, drip.closed, flood.closed])
    await until(() => publisher.connections === 0)
    expect([silent.received(), drip.received()]).toEqual(['', ''])
    expect(flood.received().split('RTSP/1.0 200').length - 1).toBeLessThan(2000)
  })

  it('drops a connection that sends frames or blank lines without end, and no reader loses a packet by it', async () => {
    const { dropped, log } = dropLog()
    const { port, url } = await publishStreams(media.streams, { log, limits: { received: { perSecond: 1000, burst: 20_000 } } })
    const reading = await playing(url)
    for (const flood of [Buffer.alloc(40_000, Buffer.from([0x24, 1, 0, 0])), Buffer.alloc(40_000, '\r\n')]) {
      const { socket, closed, received } = await raw(port, OPTIONS)
      await until(() => received() !== '')
      socket.write(flood)
      await closed
    }
    expect(dropped).toEqual(Array(2).fill({ event: 'rtsp_dropped', reason: 'too_much_data', remote: '127.0.0.1' }))
    const seen = reading.packets.length
    await until(() => reading.packets.length > seen + 5)
    expect(sequenceGaps(reading.packets)).toEqual([])
  })

  it('takes no more from an address that has sent too much over its connections, except from those who play', async () => {
    // Four times as many: it is this host.
    const { port, url } = await publish({}, { receivedPerAddress: { perSecond: 1, burst: 5000 } })
    const steady = await playing(url)
    const lines = '\r\n'.repeat(7000)
    const [first, second] = [await raw(port, lines), await raw(port, lines)]
    await Promise.race([first.closed, second.closed])
    const late = await raw(port, OPTIONS)
    await late.closed
    expect(late.received()).toBe('')
    expect((await steady.request('GET_PARAMETER', url)).status).toBe(200)
  })

  it('limits the requests that wait behind a DESCRIBE', async () => {
    const { port } = await publish({ streams: [new RtpStream()] }, { pipelinedRequests: 4 })
    const flood = await raw(port, `DESCRIBE rtsp://h/cam RTSP/1.0\r\nCSeq: 1\r\n\r\n${'OPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n'.repeat(10)}`)
    await flood.closed
    // The DESCRIBE never gets media, so nothing behind it is answered either.
    expect(flood.received()).not.toContain('CSeq: 2')
  })

  it('limits connections, in total and per address', async () => {
    const { port, publisher } = await publish({}, { connections: 20, connectionsPerAddress: 10 })
    const sockets = await Promise.all(Array.from({ length: 300 }, () => raw(port, OPTIONS).catch(() => undefined)))
    await until(() => publisher.connections <= 10)
    expect(publisher.connections).toBeGreaterThan(0)
    for (const entry of sockets) entry?.socket.destroy()
    await until(() => publisher.connections === 0)
  })

  it('allows one session per connection', async () => {
    const { url } = await publish()
    const client = await connected(url)
    await client.describe()
    const first = await client.setUp(0)
    const again = await client.setUp(0)
    client.session = undefined
    const another = await client.request('SETUP', `${url}/stream=0`, { Transport: 'RTP/AVP/TCP' })
    expect([first.status, again.status, another.status]).toEqual([200, 455, 455])
  })

  it('limits the sessions over UDP and frees their ports', async () => {
    const { url } = await publish({}, { udpSessions: 1 })
    const first = await playing(url, { transport: 'udp' })
    await expect(openReader(url, { transport: 'udp' })).rejects.toThrow('453')
    await first.close()
    const second = await playing(url, { transport: 'udp' })
    await second.until(() => second.count > 10)
  })

  it('ends a session over UDP without requests and reports, and ignores RTCP from other addresses', async () => {
    const { url, mount } = await publish({}, { sessionTimeoutMs: 1500 })
    const client = await connected(url, { transport: 'udp' })
    await client.describe()
    const transport = (await client.setUp(0)).headers.get('transport') ?? ''
    await client.play()
    await client.until(() => client.count > 5)
    const port = Number(/server_port=\d+-(\d+)/.exec(transport)?.[1])
    const stranger = createSocket('udp4')
    const knock = setInterval(
      () => stranger.send(Buffer.from('81c90001000000010000000000000000', 'hex').subarray(0, 8), port, '127.0.0.1'),
      100,
    )
    expect(mount.readers).toBe(1)
    await client.closed
    clearInterval(knock)
    stranger.close()
    await until(() => mount.readers === 0)
    expect(client.open).toBe(false)
  })

  it('reads what readers sent while the process stood still before it ends their sessions', async () => {
    const { url, mount } = await publish({}, { sessionTimeoutMs: 1500 })
    const client = await playing(url, { transport: 'udp' })
    await client.until(() => client.count > 5)
    const answer = client.request('OPTIONS')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2600)
    expect([(await answer).status, mount.readers]).toEqual([200, 1])
  })
})
