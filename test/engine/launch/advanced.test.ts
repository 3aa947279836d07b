import { describe, expect, it } from 'vitest'
import { checkAdvanced } from '../../../engine/launch/advanced.ts'
import { DEFAULT_SETTINGS } from '../../../lib/schema/settings.ts'

const check = (raw_pipeline: string, allowFiles = false) => checkAdvanced({ raw_pipeline }, DEFAULT_SETTINGS, { allowFiles })

describe('checkAdvanced', () => {
  it.each([
    ['videotestsrc is-live=true ! x264enc ! rtph264pay name=pay0', 1],
    ['( videotestsrc is-live=true ! x264enc ! rtph264pay name="pay0" pt=96 )', 1],
    ["videotestsrc ! x264enc ! rtph264pay name = 'pay0'\n\tvideotestsrc ! jpegenc ! rtpjpegpay name=pay1", 2],
    ['videotestsrc ! video/x-raw, format = (string) I420 , width=320 ! fakesink', 0],
    ['videotestsrc name="a b" ! fakesink', 0],
    ['rtspsrc location=rtsp://u:p@h/x user-pw="a b" ! fakesink', 0],
    ['v4l2src device=/dev/video0 ! fakesink', 0],
  ])('accepts %s', async (description, streams) => {
    expect(await check(description)).toMatchObject({ publishes: streams > 0, streams: { length: streams } })
  })

  it.each([
    ['videotestsrc ! !  fakesink', /syntax error/],
    ['videotestsrc foo=1 ! fakesink', /no property "foo" in element "videotestsrc"/],
    ['videotestsrc pattern=nope ! fakesink', /could not set property "pattern"/],
    ['nosuchelement ! fakesink', /no element "nosuchelement"/],
    ['( '.repeat(20), /not complete|syntax error/],
    ['   ', /not complete/],
  ])("refuses %s with GStreamer's message", async (description, message) => {
    await expect(check(description)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'raw_pipeline' }], engine: expect.stringMatching(message) },
    })
  })

  it.each(['( ', 'a', '"', 'a="', 'x264enc ! '])('survives sixteen thousand characters of %j', async (unit) => {
    await expect(check(unit.repeat(Math.floor(16384 / unit.length)))).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  it.each([
    'videotestsrc !',
    'videotestsrc ! x264enc ! rtph264pay name=pay0 !',
    'videotestsrc ! rtph264pay name="pay0',
    'videotestsrc ! fakesink __check__',
    'fakesrc ! rtpklvpay name=pay1',
  ])('refuses %s, which would change the meaning of the appended branches', async (description) => {
    await expect(check(description)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  // Each tries to reach a file, a descriptor, a program or an option of gst-launch.
  it.each([
    'filesrc location=/etc/passwd ! fakesink',
    'FileSrc location=/etc/passwd ! fakesink',
    'videotestsrc ! "filesink" location=/tmp/x',
    'videotestsrc ! filesi\\nk location=/tmp/x',
    "videotestsrc ! 'fdsink' fd=3",
    'fdsrc fd=0 ! fakesink',
    'bin.( filesrc location=/x ! fakesink )',
    'playbin video-sink="filesink location=/tmp/x"',
    "playbin audio-sink='fdsink fd=4'",
    'playbin uri=file:///etc/passwd',
    'playbin uri=FILE:///etc/passwd',
    'playbin uri="fi\\le:///etc/passwd"',
    'playbin uri=fi\\le:///etc/passwd',
    'playbin uri="\\"file:///etc/passwd\\""',
    'playbin uri=file:/etc/passwd',
    'playbin uri=pushfile:///etc/passwd',
    'playbin suburi=fd://0 uri=http://h/x',
    'file:///etc/passwd ! fakesink',
    'pushfile:///etc/passwd ! fakesink',
    '/etc/passwd ! fakesink',
    'testbin://video ! fakesink',
    'data:,x ! fakesink',
    'videotestsrc ! x264enc option-string="dump-yuv=/tmp/x" ! fakesink',
    'videotestsrc ! x265enc option-string=csv=/tmp/x ! fakesink',
    'videotestsrc ! x264enc multipass_cache_file=/tmp/x ! fakesink',
    'videotestsrc ! qtmux moov-recovery-file=/tmp/x ! fakesink',
    'queue2 temp-template=/tmp/x-XXXXXX ! fakesink',
    'alsasrc device="plug:\'file:/tmp/x\'" ! fakesink',
    'alsasink device="tee:default,/tmp/x"',
    '--gst-plugin-load=/tmp/x.so videotestsrc ! fakesink',
    'videotestsrc ! fakesink --gst-version',
    '-e videotestsrc ! fakesink',
  ])('refuses %s', async (description) => {
    await expect(check(description)).rejects.toMatchObject({ code: 'VALIDATION_ERROR', details: { issues: [{ path: 'raw_pipeline' }] } })
  })

  it.each([
    ['videotestsrc ! x264enc ! rtph264pay name=pay0', ['h264']],
    ['videotestsrc ! tee name=t t. ! x264enc ! fakesink t. ! x265enc ! fakesink', ['h264', 'h265']],
    // Its text names no encoder.
    ['videotestsrc ! encodebin profile=video/x-h264 ! fakesink', ['h264']],
    // Its text names an encoder, and nothing is encoded.
    ['videotestsrc name=x264enc ! fakesink', []],
    ['rtspsrc location=rtsp://h/x264enc ! rtph264depay ! rtph264pay name=pay0', []],
    ['videotestsrc ! jpegenc ! rtpjpegpay name=pay0', []],
  ])('finds what %s encodes to: %j', async (description, codecs) => {
    expect((await check(description)).codecs).toEqual(codecs)
  })

  it('allows file addresses where files are allowed, but denied elements never', async () => {
    expect((await check('uridecodebin uri=file:///srv/a.mp4 name=d d. ! fakesink', true)).publishes).toBe(false)
    await expect(check('filesrc location=/srv/a.mp4 ! fakesink', true)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  it('refuses every description when advanced pipelines are switched off', async () => {
    const settings = { ...DEFAULT_SETTINGS, advanced: { ...DEFAULT_SETTINGS.advanced, enabled: false } }
    await expect(checkAdvanced({ raw_pipeline: 'videotestsrc ! fakesink' }, settings, { allowFiles: true })).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('shows no credential of the description', async () => {
    const failure = check('rtspsrc location=rtsp://admin:hunter2@h/x foo=1 ! fakesink')
    await expect(failure).rejects.toSatisfy(
      (error: { message: string; details: unknown }) => !JSON.stringify([error.message, error.details]).includes('hunter2'),
    )
  })
})
