import { describe, expect, it } from 'vitest'
import { runToEnd, startChild } from '../../../engine/gst/child.ts'
import { chain, makeElement, toArguments } from '../../../engine/gst/element.ts'
import { advancedLaunch } from '../../../engine/launch/advanced.ts'
import { PICTURES, plan, play } from '../../helpers/media/play-launch.ts'

// RTSP sources: test/engine/ingest/sources.test.ts.
describe('the test source', () => {
  it.each(['smpte', 'ball', 'snow'])('%s plays', async (pattern) => {
    expect((await play(await plan(`test://${pattern}?width=320&height=240&fps=10`))).caps.get('pay0')?.encodingName).toBe('H264')
  })

  it('is encoded to H.265 when asked', async () => {
    const { caps } = await play(await plan('test://ball?width=320&height=240', { codec: 'h265', bitrate: 500, quality: 1 }))
    expect(caps.get('pay0')?.encodingName).toBe('H265')
  })
})

describe('an advanced pipeline', () => {
  it('outputs the RTP of its payloaders', async () => {
    const raw = `( videotestsrc is-live=true ! ${PICTURES} ! x264enc tune=zerolatency ! rtph264pay name="pay0"  videotestsrc is-live=true ! ${PICTURES} ! jpegenc ! rtpjpegpay name=pay1 )`
    const { caps, firstPacket } = await play(advancedLaunch({ raw_pipeline: raw }), ['pay0', 'pay1'])
    expect(['pay0', 'pay1'].map((name) => caps.get(name)?.encodingName)).toEqual(['H264', 'JPEG'])
    expect((firstPacket[0] ?? 0) >> 6).toBe(2)
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
