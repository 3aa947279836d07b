import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runToEnd } from '../../../engine/gst/child.ts'
import type { Encoding } from '../../../lib/schema/pipeline.ts'
import { configure, H264, PICTURES, plan, play, send, TS } from '../../helpers/media/play-launch.ts'
import { faultOf, playSource, type SourcePlay } from '../../helpers/media/play-source.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { until } from '../../helpers/until.ts'

/** Whether some process has bound this UDP port. */
const isUdpPortOpen = (port: number): boolean =>
  readFileSync('/proc/net/udp', 'utf8').includes(`:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000`)

/** The port of a server that listens until the test is over. */
const listen = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** The codec that a source plays with. */
const codecOf = async (source: Parameters<typeof playSource>[0]): Promise<string | undefined> => {
  const played = await playSource(source)
  await played.media()
  return played.streams[0].caps?.encodingName
}

describe('MPEG-TS sources', () => {
  it.each(['H264', 'H265'] as const)('%s over UDP passes through', async (codec) => {
    const port = await freeUdpPort()
    onTestFinished(send(`${TS[codec]} ! udpsink host=127.0.0.1 port=${port}`))
    expect(await codecOf(`udp://127.0.0.1:${port}`)).toBe(codec)
  })

  it('over UDP with audio passes its video through', async () => {
    const port = await freeUdpPort()
    const [encode = '', mux = ''] = TS.H264.split(' ! mpegtsmux ')
    onTestFinished(
      send(
        `audiotestsrc is-live=true ! avenc_mp2 ! mpegaudioparse ! mux. ${encode} ! mpegtsmux name=mux ${mux} ! udpsink host=127.0.0.1 port=${port}`,
      ),
    )
    expect(await codecOf(`udp://127.0.0.1:${port}`)).toBe('H264')
  })

  it('over UDP at a port that is taken is refused, and a multicast group is not', async () => {
    const port = await freeUdpPort()
    for (const address of ['127.0.0.1', '239.77.4.1'])
      onTestFinished(send(`udpsrc address=${address} port=${port} multicast-iface=lo ! fakesink`))
    await until(
      () => isUdpPortOpen(port),
      (open) => open,
    )
    await expect(playSource(`udp://127.0.0.1:${port}`)).rejects.toMatchObject({
      reason: 'source_error',
      message: expect.stringContaining('uses the port'),
    })
    onTestFinished(send(`${TS.H264} ! udpsink host=239.77.4.1 port=${port} multicast-iface=lo`))
    expect(await codecOf(`udp://@239.77.4.1:${port}?iface=lo`)).toBe('H264')
    await expect(playSource(`udp://@239.77.4.1:${port}?iface=none`)).rejects.toMatchObject({
      message: expect.stringContaining('interface none'),
    })
  })

  it('over UDP is re-encoded', async () => {
    const port = await freeUdpPort()
    onTestFinished(send(`${TS.H265} ! udpsink host=127.0.0.1 port=${port}`))
    expect(await codecOf(configure(`udp://127.0.0.1:${port}`, H264))).toBe('H264')
  })

  it('over SRT passes through when the sender is the caller, with a passphrase', async () => {
    const port = await freeUdpPort()
    const launch = await plan(`srt://127.0.0.1:${port}?mode=listener&passphrase=correcthorse`)
    // A caller that nobody answers ends after a few seconds.
    const call = async (): Promise<void> => {
      await until(
        () => isUdpPortOpen(port),
        (open) => open,
      )
      onTestFinished(send(`${TS.H264} ! srtsink uri=srt://127.0.0.1:${port}?mode=caller passphrase=correcthorse`))
    }
    const [{ caps }] = await Promise.all([play(launch), call()])
    expect(caps.get('pay0')?.encodingName).toBe('H264')
  })

  it('over SRT is unreachable when nothing answers', async () => {
    await expect(play(await plan(`srt://127.0.0.1:${await freeUdpPort()}`))).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('RTMP sources', () => {
  it('are unreachable when nothing listens', async () => {
    await expect(play(await plan('rtmp://127.0.0.1:1/app/key'))).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('files and HTTP', () => {
  let folder: string
  const server = createServer()
  let base: string
  const children = new Set<ReturnType<typeof spawn>>()

  const record = async (description: string): Promise<void> => {
    const { exitCode, stderr } = await runToEnd('gst-launch-1.0', ['-q', ...description.split(' ')], { timeoutMs: 20_000, reach: 'host' })
    if (exitCode !== 0) throw new Error(stderr)
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sources '))
    const raw = `videotestsrc num-buffers=100 ! ${PICTURES}`
    const h264 = `${raw} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h264parse`
    const h265 = `${raw} ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h265parse`
    const at = (name: string): string => join(folder, name).replaceAll(' ', '\\ ')
    // gst-launch joins its arguments, so blanks in names are escaped.
    await Promise.all([
      record(`${h264} ! mp4mux ! filesink location=${at('a.mp4')}`),
      record(`${h265} ! matroskamux ! filesink location=${at('a.mkv')}`),
      record(`${raw} ! avenc_mpeg4 ! mpeg4videoparse ! mpegtsmux ! filesink location=${at('mpeg4.ts')}`),
      record(`${h264} ! mpegtsmux ! filesink location=${at('segment.ts')}`),
    ])
    const segments = Array.from({ length: 3 }, () => ['#EXT-X-DISCONTINUITY', '#EXTINF:4.0,', 'segment.ts']).flat()
    writeFileSync(
      join(folder, 'recording.m3u8'),
      ['#EXTM3U', '#EXT-X-VERSION:3', '#EXT-X-TARGETDURATION:4', ...segments, '#EXT-X-ENDLIST', ''].join('\n'),
    )
    server.on('request', (request, response) => {
      const { pathname } = new URL(request.url ?? '/', 'http://h')
      const live = LIVE[pathname]
      if (live === undefined) return sendFile(join(folder, pathname), response)
      response.writeHead(200, { 'content-type': live.type })
      const child = spawn('gst-launch-1.0', ['-q', ...`${live.line} ! fdsink fd=1`.split(' ')], { stdio: ['ignore', 'pipe', 'ignore'] })
      children.add(child)
      child.stdout.pipe(response)
      response.on('close', () => child.kill('SIGKILL'))
      return undefined
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const LIVE: Readonly<Record<string, { readonly type: string; readonly line: string }>> = {
    '/live.ts': { type: 'video/mp2t', line: TS.H264 },
    '/mjpeg': {
      type: 'multipart/x-mixed-replace; boundary=x',
      line: `videotestsrc is-live=true ! ${PICTURES} ! jpegenc ! multipartmux boundary=x`,
    },
  }

  const sendFile = async (path: string, response: ServerResponse): Promise<void> => {
    const bytes = await readFile(path).catch(() => undefined)
    const type = path.endsWith('.m3u8') ? 'application/vnd.apple.mpegurl' : 'application/octet-stream'
    if (bytes === undefined) response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': type, 'content-length': bytes.length }).end(bytes)
  }

  /** Plays an address of the server until there is video. */
  const playsHttp = async (name: string, encoding: Encoding | null = null): Promise<SourcePlay> => {
    const played = await playSource(configure(`${base}/${name}`, encoding))
    await played.media()
    return played
  }

  it.each([
    ['a.mp4', 'H264'],
    ['a.mkv', 'H265'],
  ])('a file passes through: %s', async (name, codec) => {
    const uri = `file://${encodeURI(join(folder, name))}`
    expect((await play(await plan(uri))).caps.get('pay0')?.encodingName).toBe(codec)
  })

  it.each([
    ['recording.m3u8', 'H264'],
    ['live.ts', 'H264'],
    ['a.mp4', 'H264'],
  ])('HTTP passes through: %s', async (name, codec) => {
    expect((await playsHttp(name)).streams[0].caps?.encodingName).toBe(codec)
  })

  it.each(['mjpeg', 'mpeg4.ts', 'recording.m3u8'])('HTTP is re-encoded: %s', async (name) => {
    expect((await playsHttp(name, H264)).streams[0].caps?.encodingName).toBe('H264')
  })

  it('pictures of MJPEG over HTTP have the times at which they came', async () => {
    const { fps: _, ...encoding } = H264
    const { video } = await playsHttp('mjpeg', encoding)
    await until(
      () => video.length,
      (count) => count >= 25,
    )
    const times = video.slice(0, 25).map(({ mediaMs }) => mediaMs)
    // Two may come in one read.
    expect(new Set(times).size).toBeGreaterThan(15)
    // 25 pictures a second: 24 steps.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toSatisfy((ms) => ms > 500 && ms < 5000)
  })

  it('another codec requires encoding: MJPEG, known by its type, and MPEG-4, known by its data', async () => {
    await expect(plan(`${base}/mjpeg`)).rejects.toMatchObject({ reason: 'unsupported', message: expect.stringContaining('encoding') })
    await expect(playsHttp('mpeg4.ts')).rejects.toMatchObject({ reason: 'unsupported', message: expect.stringContaining('encoding') })
  })

  it('credentials are not sent to another server that a redirect leads to', async () => {
    const seen: (string | undefined)[] = []
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(401, { 'www-authenticate': 'Basic realm="other"' }).end()
    })
    const away = await listen(other)
    const first = createServer((request, response) => {
      if (request.headers.authorization === undefined) response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
      else response.writeHead(302, { location: `http://127.0.0.1:${away}/live.ts` }).end()
    })
    const fault = faultOf(`http://user:secret@127.0.0.1:${await listen(first)}/live.ts`)
    expect([await fault, seen]).toMatchObject([{ reason: 'unauthorized' }, [undefined]])
  })

  it('HLS with credentials has them for its segments as well, but not on other servers', async () => {
    const [asked, away]: [string[], (string | undefined)[]] = [[], []]
    const other = createServer((request, response) => {
      away.push(request.headers.authorization)
      void sendFile(join(folder, 'segment.ts'), response)
    })
    const otherPort = await listen(other)
    const closed = createServer((request, response) => {
      if (request.headers.authorization !== `Basic ${Buffer.from('user:p@ss word').toString('base64')}`)
        return response.writeHead(401, { 'www-authenticate': 'Basic realm="r"' }).end()
      asked.push(request.url ?? '')
      if (request.url === '/segment.ts' && asked.filter((path) => path === '/segment.ts').length === 2)
        return response.writeHead(302, { location: `http://localhost:${otherPort}/segment.ts` }).end()
      return void sendFile(join(folder, request.url ?? ''), response)
    })
    const uri = `http://user:p%40ss%20word@127.0.0.1:${await listen(closed)}/recording.m3u8`
    const { video } = await playSource(uri)
    // More than the first segment has: what the redirect led to is played as well.
    await until(
      () => video.length,
      (count) => count >= 110,
    )
    expect(asked.filter((path) => path === '/segment.ts').length).toBeGreaterThan(1)
    expect(away).toEqual([undefined])
  })

  it('missing files and playlists are not_found', async () => {
    await expect(plan(`${base}/nope.m3u8`)).rejects.toMatchObject({ reason: 'not_found' })
    await expect(plan(`file://${encodeURI(folder)}/nope`)).rejects.toMatchObject({ reason: 'not_found' })
    await expect(plan(`file://${encodeURI(folder)}`)).rejects.toMatchObject({ reason: 'unsupported' })
  })
})

it('a source over https with a certificate that cannot be verified is refused, and the fault says so', async () => {
  const certificate = makeCertificate()
  onTestFinished(() => certificate.remove())
  const pair = { key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) }
  const port = await listen(createTlsServer(pair, (_request, response) => response.writeHead(200, { 'content-type': 'video/mp2t' }).end()))
  await expect(plan(`https://user:secret@127.0.0.1:${port}/live.ts`)).rejects.toMatchObject({
    reason: 'source_error',
    message: expect.stringMatching(
      /^The certificate of https:\/\/127\.0\.0\.1:\d+\/live\.ts cannot be verified: self-signed certificate\. Add/,
    ),
  })
})
