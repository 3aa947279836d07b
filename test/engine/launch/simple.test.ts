import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { Fault } from '../../../engine/faults/fault.ts'
import { TRANSPORT_REFUSED } from '../../../engine/gst/bus-errors.ts'
import { runToEnd, startChild } from '../../../engine/gst/child.ts'
import { chain, makeElement, toArguments } from '../../../engine/gst/element.ts'
import { advancedLaunch } from '../../../engine/launch/advanced.ts'
import { simpleLaunch } from '../../../engine/launch/simple.ts'
import { parseSource } from '../../../engine/sources/kinds.ts'
import { configure, H264, PICTURES, plan, play, rtpOf } from '../../helpers/media/play-launch.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'

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

  // Every character with a meaning in a URI, a shell or gst-launch.
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

  it.each(['/klv'])('%s outputs its KLV track beside the video', async (path) => {
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

  it('a source that sends over UDP only gets requests for UDP after its first refusal', async () => {
    const uri = udpOnly.url('/h264')
    const fault = await play(await plan(uri)).then(
      () => undefined,
      (error: Fault) => error,
    )
    expect(fault).toMatchObject({ reason: 'source_error', cause: TRANSPORT_REFUSED })
    expect((await play(await plan(uri, null, fault))).caps.get('pay0')).toContain('H264')
    expect((await plan(uri)).args).toContain('protocols=udp')
  })

  it('a source that refuses UDP later on gets requests for TCP again', async () => {
    const before = await startRtspSource(['--transport', 'udp'])
    onTestFinished(() => before.stop())
    const uri = before.url('/h264')
    const refusal = async (fault?: Fault): Promise<Fault> =>
      play(await plan(uri, null, fault)).then(
        () => {
          throw new Error('It plays')
        },
        (error: Fault) => error,
      )
    const noTcp = await refusal()
    expect((await plan(uri, null, noTcp)).args).toContain('protocols=udp')
    await before.stop()
    const after = await startRtspSource(['--transport', 'tcp', '--port', String(before.port)])
    onTestFinished(() => after.stop())
    const noUdp = await refusal()
    expect(noUdp).toMatchObject({ reason: 'source_error', cause: TRANSPORT_REFUSED })
    expect((await play(await plan(uri, null, noUdp))).caps.get('pay0')).toContain('H264')
    // The same fault does not count twice: a play that is stopped and started again has it as its previous fault.
    expect((await plan(uri, null, noUdp)).args).toContain('protocols=tcp')
  })

  it('rtspt:// is never sent over UDP, and the fault promises none', async () => {
    const uri = udpOnly.url('/h264').replace('rtsp:', 'rtspt:')
    const fault = await play(await plan(uri)).catch((error: Fault) => error)
    expect(fault).toMatchObject({ message: expect.stringContaining('rtspt:// and rtsps:// use TCP only') })
    expect((await plan(uri, null, fault as Fault)).args).toContain('protocols=tcp')
  })

  it('a wrong password that only the child notices is the fault unauthorized', async () => {
    const context = {
      signal: new AbortController().signal,
      timeoutMs: 10_000,
      allowFiles: false,
      transport: 'tcp',
      reencode: false,
    } as const
    const { kind, parsed } = parseSource(configure(source.url('/h264', userInfo), null).source)
    const facts = await kind.probe(parsed, context)
    const launch = simpleLaunch(configure(source.url('/h264', 'user:wrong'), null), facts, null)
    await expect(play(launch)).rejects.toMatchObject({ reason: 'unauthorized' })
  })
})

describe('an RTSP source with TLS and a self-signed certificate', () => {
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
  it('outputs the RTP of its payloaders', async () => {
    const raw = `( videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency ! rtph264pay name="pay0"  videotestsrc is-live=true ! ${PICTURES} ! jpegenc ! rtpjpegpay name=pay1 )`
    const { caps, firstPacket } = await play(advancedLaunch({ raw_pipeline: raw }), ['pay0', 'pay1'])
    expect(caps.get('pay0')).toContain('H264')
    expect(caps.get('pay1')).toContain('JPEG')
    expect(rtpOf(firstPacket).version).toBe(2)
  })

  it('runs in real time when its source is not live', async () => {
    const raw = `videotestsrc num-buffers=26 ! ${PICTURES} ! x264enc tune=zerolatency ! rtph264pay name=pay0`
    const launch = advancedLaunch({ raw_pipeline: raw })
    const began = performance.now()
    const child = startChild('gst-launch-1.0', launch.args, { mediaPipes: 1, reach: { network: true } })
    for (const pipe of [...child.media, child.stdout, child.stderr]) pipe.resume()
    expect(await child.ended).toMatchObject({ exitCode: 0 })
    // The last of 26 frames comes one second after the first; a busy host takes longer, never less.
    expect(performance.now() - began).toBeGreaterThan(900)
  })
})

describe('a property', () => {
  // The error of filesrc contains the text it got.
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
  ])('reaches its element unchanged: %s', async (location) => {
    const tokens = chain(makeElement('filesrc', { location }), ['fakesink'])
    const { stderr } = await runToEnd('gst-launch-1.0', ['--', ...toArguments(tokens)], { timeoutMs: 10_000, reach: {} })
    expect(stderr).toContain(`No such file "${location}"`)
  })
})
