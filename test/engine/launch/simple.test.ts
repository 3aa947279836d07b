import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runToEnd, startChild } from '../../../engine/gst/child.ts'
import { chain, makeElement, toArguments } from '../../../engine/gst/element.ts'
import { advancedLaunch } from '../../../engine/launch/advanced.ts'
import { simpleLaunch } from '../../../engine/launch/simple.ts'
import { parseSource } from '../../../engine/sources/kinds.ts'
import { configure, H264, PICTURES, plan, play, rtpOf } from '../../helpers/media/play-launch.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'

// Sources that are passed through: test/engine/ingest/sources.test.ts.
describe('RTSP sources', () => {
  let source: RtspSource

  beforeAll(async () => {
    source = await startRtspSource(['--auth', 'digest', '--user', 'us er', '--password', 'p"a\\s\'s !@:/'])
  })
  afterAll(() => source.stop())

  // Every character with a meaning in a URI, a shell or gst-launch.
  const userInfo = `us%20er:${encodeURIComponent('p"a\\s\'s !@:/')}`

  it.each(['/h264', '/h265', '/mp2t', '/jpeg', '/vp8'])('%s is re-encoded', async (path) => {
    const { caps } = await play(await plan(source.url(path, userInfo), H264))
    expect(caps.get('pay0')).toContain('encoding-name=(string)H264')
  })

  it('H.264 is re-encoded to H.265', async () => {
    const { caps } = await play(await plan(source.url('/h264', userInfo), { ...H264, codec: 'h265' }))
    expect(caps.get('pay0')).toContain('encoding-name=(string)H265')
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

it('an RTSP source with TLS and a self-signed certificate passes through', async () => {
  const certificate = makeCertificate()
  onTestFinished(() => certificate.remove())
  const source = await startRtspSource(['--tls', certificate.cert, certificate.key, '--auth', 'digest'])
  onTestFinished(() => source.stop())
  expect((await play(await plan(source.url('/h264', 'user:secret')))).caps.get('pay0')).toContain('H264')
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
