import { execFileSync, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { classifyEnd } from '../../engine/bus-errors.ts'
import { runToEnd, startChild } from '../../engine/child.ts'
import { chooseEncoder } from '../../engine/encoders.ts'
import type { Fault } from '../../engine/fault.ts'
import { advancedLaunch, encodedCodec, type Launch, simpleLaunch } from '../../engine/launch.ts'
import { probeSource } from '../../engine/source.ts'
import { chain, element, toArguments } from '../../engine/sources/element.ts'
import { TCP_REFUSED } from '../../engine/sources/facts.ts'
import type { Encoding, SimpleConfig } from '../../lib/schema/pipeline.ts'
import { type RtspSource, startRtspSource } from '../helpers/rtsp-source.ts'

const configure = (uri: string, encoding: Encoding | null): SimpleConfig => ({
  id: 'cam-1',
  mode: 'simple',
  on_demand: false,
  output: null,
  klv_config: { pass_klv: false, auto_extract_geolocation: false },
  ephemeral: false,
  source: { uri, latency_ms: 0 },
  encoding,
})

const plan = async (uri: string, encoding: Encoding | null = null, previousFault?: Fault): Promise<Launch> => {
  const config = configure(uri, encoding)
  const context = { signal: new AbortController().signal, timeoutMs: 10_000, allowFiles: true, previousFault }
  const facts = await probeSource(config.source, context)
  const codec = encodedCodec(config, facts)
  return simpleLaunch(config, facts, codec === null ? null : await chooseEncoder(codec, 'software', runToEnd))
}

interface Played {
  /** Caps that the child printed, by payloader. */
  readonly caps: ReadonlyMap<string, string>
  readonly firstPacket: Buffer
}

/** Runs a line until its payloaders have printed caps and sent bytes; throws the fault when the child ends before. */
const play = async (launch: Launch, wanted: readonly string[] = ['pay0']): Promise<Played> => {
  const child = startChild('gst-launch-1.0', ['-v', ...launch.args], { mediaPipes: launch.streams.length })
  const caps = new Map<string, string>()
  let stderr = ''
  let stdout = ''
  let resolveCaps = (): void => {}
  const printed = new Promise<void>((resolve) => {
    resolveCaps = resolve
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    for (const [, name = '', text = ''] of stdout.matchAll(/:(pay\d)\.GstPad:src: caps = (application\/x-rtp, .*)/g)) caps.set(name, text)
    if (wanted.every((name) => caps.has(name))) resolveCaps()
  })
  const firsts = launch.streams.map(({ payloader }, index) => {
    const pipe = child.media[index]
    if (pipe === undefined) throw new Error(`no pipe for ${payloader}`)
    const first = once(pipe, 'data') as Promise<[Buffer]>
    pipe.on('data', () => {})
    return wanted.includes(payloader) ? first : Promise.resolve([Buffer.alloc(0)] as [Buffer])
  })
  try {
    const ended = child.ended.then((end) => {
      throw classifyEnd(end, stderr.split('\n'))
    })
    const [packets] = await Promise.race([Promise.all([Promise.all(firsts), printed]), ended])
    return { caps, firstPacket: packets[0]?.[0] ?? Buffer.alloc(0) }
  } finally {
    child.kill('SIGKILL')
    await child.ended
  }
}

/** RTP version and payload type of the first RFC 4571 packet. */
const rtpOf = (packet: Buffer) => ({
  length: packet.readUInt16BE(0) > 12,
  version: (packet[2] ?? 0) >> 6,
  payload: (packet[3] ?? 0) & 0x7f,
})

const H264: Encoding = { codec: 'h264', bitrate: 500, width: 320, height: 180, fps: 10, quality: 1 }

describe('RTSP sources', () => {
  let source: RtspSource
  let udpOnly: RtspSource
  let hangs: RtspSource

  beforeAll(async () => {
    ;[source, udpOnly, hangs] = await Promise.all([
      startRtspSource(['--auth', 'digest', '--user', 'us er', '--password', 'p"a\\s\'s !@:/']),
      startRtspSource(['--transport', 'udp']),
      startRtspSource(['--hang']),
    ])
  })
  afterAll(() => Promise.all([source, udpOnly, hangs].map((one) => one.stop())))

  // Every character that means something to a URI, a shell or gst-launch.
  const userInfo = `us%20er:${encodeURIComponent('p"a\\s\'s !@:/')}`

  it.each([
    ['/h264', /encoding-name=\(string\)H264.*sprop-parameter-sets/, 96],
    ['/h265', /encoding-name=\(string\)H265.*sprop-vps/, 96],
    ['/mp2t', /encoding-name=\(string\)H264/, 96],
    ['/av', /encoding-name=\(string\)H264/, 96],
    ['/jpeg', /encoding-name=\(string\)JPEG/, 26],
    ['/vp8', /encoding-name=\(string\)VP8/, 96],
  ])('%s passes through', async (path, caps, payload) => {
    const played = await play(await plan(source.url(path, userInfo)))
    expect(played.caps.get('pay0')).toMatch(caps)
    expect(rtpOf(played.firstPacket)).toEqual({ length: true, version: 2, payload })
  })

  it.each(['/klv', '/mp2t'])('%s gives its KLV track beside the video', async (path) => {
    const { caps } = await play(await plan(source.url(path, userInfo)), ['pay0', 'pay1'])
    expect(caps.get('pay1')).toContain('encoding-name=(string)SMPTE336M')
  })

  it.each(['/h264', '/h265', '/mp2t', '/jpeg', '/vp8'])('%s is re-encoded', async (path) => {
    const { caps } = await play(await plan(source.url(path, userInfo), H264))
    expect(caps.get('pay0')).toContain('encoding-name=(string)H264')
  })

  it('H.264 is re-encoded to H.265', async () => {
    const { caps } = await play(await plan(source.url('/h264', userInfo), { ...H264, codec: 'h265' }))
    expect(caps.get('pay0')).toContain('encoding-name=(string)H265')
  })

  it('a source that sends over UDP only is asked for UDP after its first refusal, and from then on', async () => {
    const uri = udpOnly.url('/h264')
    const fault = await play(await plan(uri)).then(
      () => undefined,
      (error: Fault) => error,
    )
    expect(fault).toMatchObject({ reason: 'source_error', cause: TCP_REFUSED })
    expect((await play(await plan(uri, null, fault))).caps.get('pay0')).toContain('H264')
    expect((await plan(uri)).args).toContain('protocols=udp')
  })

  it('a wrong password that only the child finds out is a fault of that kind', async () => {
    const { source: right } = configure(source.url('/h264', userInfo), null)
    const facts = await probeSource(right, { signal: new AbortController().signal, timeoutMs: 10_000, allowFiles: false })
    const launch = simpleLaunch(configure(source.url('/h264', 'user:wrong'), null), facts, null)
    await expect(play(launch)).rejects.toMatchObject({ reason: 'unauthorized' })
  })
})

describe('an RTSP source with TLS and a certificate of its own', () => {
  let folder: string
  let source: RtspSource

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rtsps-'))
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const request = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=camera',
      '-keyout',
      key,
      '-out',
      certificate,
    ]
    execFileSync('openssl', request, { stdio: 'ignore' })
    source = await startRtspSource(['--tls', certificate, key, '--auth', 'digest'])
  })
  afterAll(async () => {
    await source?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it('passes through', async () => {
    expect((await play(await plan(source.url('/h264', 'user:secret')))).caps.get('pay0')).toContain('H264')
  })
})

/** A gst-launch that sends; ended by the returned function. */
const send = (description: string): (() => Promise<void>) => {
  const child = spawn('gst-launch-1.0', ['-q', ...description.split(' ')], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  return async () => {
    child.kill('SIGKILL')
    await exited
  }
}

const freeUdpPort = async (): Promise<number> => {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  const { port } = socket.address()
  await new Promise<void>((resolve) => socket.close(() => resolve()))
  return port
}

const PICTURES = 'video/x-raw,format=I420,width=320,height=180,framerate=25/1'
const TS = {
  H264: `videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10 ! h264parse ! mpegtsmux alignment=7`,
  H265: `videotestsrc is-live=true ! ${PICTURES} ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=10 ! h265parse ! mpegtsmux alignment=7`,
}

describe('MPEG-TS sources', () => {
  it.each(['H264', 'H265'] as const)('%s over UDP passes through', async (codec) => {
    const port = await freeUdpPort()
    const stop = send(`${TS[codec]} ! udpsink host=127.0.0.1 port=${port}`)
    try {
      expect((await play(await plan(`udp://127.0.0.1:${port}`))).caps.get('pay0')).toContain(`encoding-name=(string)${codec}`)
    } finally {
      await stop()
    }
  })

  it('over UDP passes its video through when it carries sound as well', async () => {
    const port = await freeUdpPort()
    const [encode = '', mux = ''] = TS.H264.split(' ! mpegtsmux ')
    const stop = send(
      `audiotestsrc is-live=true ! avenc_mp2 ! mpegaudioparse ! mux. ${encode} ! mpegtsmux name=mux ${mux} ! udpsink host=127.0.0.1 port=${port}`,
    )
    try {
      expect((await play(await plan(`udp://127.0.0.1:${port}`))).caps.get('pay0')).toContain('H264')
    } finally {
      await stop()
    }
  })

  it('over UDP is re-encoded', async () => {
    const port = await freeUdpPort()
    const stop = send(`${TS.H265} ! udpsink host=127.0.0.1 port=${port}`)
    try {
      expect((await play(await plan(`udp://127.0.0.1:${port}`, H264))).caps.get('pay0')).toContain('encoding-name=(string)H264')
    } finally {
      await stop()
    }
  })

  it('over SRT passes through when the sender calls, with a passphrase', async () => {
    const port = await freeUdpPort()
    const stop = send(`${TS.H264} ! srtsink uri=srt://127.0.0.1:${port}?mode=caller passphrase=correcthorse`)
    try {
      const uri = `srt://127.0.0.1:${port}?mode=listener&passphrase=correcthorse`
      expect((await play(await plan(uri))).caps.get('pay0')).toContain('H264')
    } finally {
      await stop()
    }
  })

  it('over SRT says that nothing answers', async () => {
    await expect(play(await plan(`srt://127.0.0.1:${await freeUdpPort()}`))).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('RTMP sources', () => {
  it('say that nothing listens', async () => {
    await expect(play(await plan('rtmp://127.0.0.1:1/app/key'))).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('files and HTTP', () => {
  let folder: string
  const server = createServer()
  let base: string
  const children = new Set<ReturnType<typeof spawn>>()

  const record = async (description: string): Promise<void> => {
    const { exitCode, stderr } = await runToEnd('gst-launch-1.0', ['-q', ...description.split(' ')], { timeoutMs: 20_000 })
    if (exitCode !== 0) throw new Error(stderr)
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sources '))
    const raw = `videotestsrc num-buffers=100 ! ${PICTURES}`
    const h264 = `${raw} ! x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h264parse`
    const h265 = `${raw} ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=25 ! h265parse`
    const at = (name: string): string => join(folder, name).replaceAll(' ', '\\ ')
    // Each joined argument reaches gst-launch as it is written, blanks escaped.
    await Promise.all([
      record(`${h264} ! mp4mux ! filesink location=${at('a.mp4')}`),
      record(`${h265} ! matroskamux ! filesink location=${at('a.mkv')}`),
      record(`${raw} ! avenc_mpeg4 ! mpeg4videoparse ! mpegtsmux ! filesink location=${at('mpeg4.ts')}`),
      record(`${h264} ! mpegtsmux ! filesink location=${at('segment.ts')}`),
    ])
    writeFileSync(
      join(folder, 'recording.m3u8'),
      ['#EXTM3U', '#EXT-X-VERSION:3', '#EXT-X-TARGETDURATION:4', '#EXTINF:4.0,', 'segment.ts', '#EXT-X-ENDLIST', ''].join('\n'),
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

  it.each([
    ['a.mp4', 'H264'],
    ['a.mkv', 'H265'],
  ])('a file passes through: %s', async (name, codec) => {
    const uri = `file://${encodeURI(join(folder, name))}`
    expect((await play(await plan(uri))).caps.get('pay0')).toContain(`encoding-name=(string)${codec}`)
  })

  it('a recording gives its KLV track beside the video, passed through and re-encoded', async () => {
    const source = await startRtspSource()
    try {
      const file = join(folder, 'klv.ts').replaceAll(' ', '\\ ')
      await record(
        `rtspsrc location=${source.url('/mp2t')} protocols=tcp latency=0 ! rtpmp2tdepay ! identity eos-after=600 ! filesink location=${file}`,
      )
    } finally {
      await source.stop()
    }
    const uri = `file://${encodeURI(join(folder, 'klv.ts'))}`
    for (const encoding of [null, H264]) {
      const { caps } = await play(await plan(uri, encoding), ['pay0', 'pay1'])
      expect(caps.get('pay1')).toContain('SMPTE336M')
    }
  })

  it.each([
    ['recording.m3u8', 'H264'],
    ['live.ts', 'H264'],
    ['a.mp4', 'H264'],
  ])('HTTP passes through: %s', async (name, codec) => {
    expect((await play(await plan(`${base}/${name}`))).caps.get('pay0')).toContain(`encoding-name=(string)${codec}`)
  })

  it.each(['mjpeg', 'mpeg4.ts', 'recording.m3u8'])('HTTP is re-encoded: %s', async (name) => {
    expect((await play(await plan(`${base}/${name}`, H264))).caps.get('pay0')).toContain('encoding-name=(string)H264')
  })

  it('another codec asks for encoding: MJPEG known by its type, MPEG-4 by its data', async () => {
    await expect(plan(`${base}/mjpeg`)).rejects.toMatchObject({ reason: 'unsupported', message: expect.stringContaining('encoding') })
    await expect(play(await plan(`${base}/mpeg4.ts`))).rejects.toMatchObject({
      reason: 'unsupported',
      message: expect.stringContaining('encoding'),
    })
  })

  it('what is not there is said to be not there', async () => {
    await expect(plan(`${base}/nope.m3u8`)).rejects.toMatchObject({ reason: 'not_found' })
    await expect(plan(`file://${encodeURI(folder)}/nope`)).rejects.toMatchObject({ reason: 'not_found' })
    await expect(plan(`file://${encodeURI(folder)}`)).rejects.toMatchObject({ reason: 'unsupported' })
  })
})

describe('the test source', () => {
  it.each(['smpte', 'ball', 'snow'])('%s plays', async (pattern) => {
    expect((await play(await plan(`test://${pattern}?width=320&height=240&fps=10`))).caps.get('pay0')).toContain('H264')
  })

  it('is encoded to H.265 when asked', async () => {
    expect(
      (await play(await plan('test://ball?width=320&height=240', { codec: 'h265', bitrate: 500, quality: 1 }))).caps.get('pay0'),
    ).toContain('H265')
  })
})

describe('an advanced pipeline', () => {
  it('gives what its payloaders make', async () => {
    const raw = `( videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency ! rtph264pay name="pay0"  videotestsrc is-live=true ! ${PICTURES} ! jpegenc ! rtpjpegpay name=pay1 )`
    const { caps, firstPacket } = await play(advancedLaunch({ raw_pipeline: raw }), ['pay0', 'pay1'])
    expect(caps.get('pay0')).toContain('H264')
    expect(caps.get('pay1')).toContain('JPEG')
    expect(rtpOf(firstPacket).version).toBe(2)
  })

  it('runs at the speed of its pictures when its source is not live', async () => {
    const raw = `videotestsrc num-buffers=26 ! ${PICTURES} ! x264enc tune=zerolatency ! rtph264pay name=pay0`
    const launch = advancedLaunch({ raw_pipeline: raw })
    const began = performance.now()
    const child = startChild('gst-launch-1.0', launch.args, { mediaPipes: 1 })
    for (const pipe of [...child.media, child.stdout, child.stderr]) pipe.resume()
    expect(await child.ended).toMatchObject({ exitCode: 0 })
    // The last of 26 pictures is shown one second after the first; a busy host takes longer, never less.
    expect(performance.now() - began).toBeGreaterThan(900)
  })
})

describe('a property', () => {
  // filesrc tells in its error which text it got.
  it.each([
    '/no such/a b',
    '/x" ! fakesink name="y',
    "/x' ! fakesink name='y",
    '"/quoted"',
    "'/quoted'",
    '/back\\slash \\" \\\\',
    '/ends with one\\',
    '\\',
    'NULL',
    '/a  b ! c',
    '/( a ) name=b .c d. ; , = $HOME `id` %s',
    '/ünï ☃',
  ])('reaches its element as it is: %s', async (location) => {
    const words = chain(element('filesrc', { location }), element('fakesink'))
    const { stderr } = await runToEnd('gst-launch-1.0', ['--', ...toArguments(words)], { timeoutMs: 10_000 })
    expect(stderr).toContain(`No such file "${location}"`)
  })
})
