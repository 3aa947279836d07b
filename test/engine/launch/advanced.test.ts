import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createAdvancedChecks } from '../../../engine/launch/advanced-checks.ts'
import { DEFAULT_SETTINGS } from '../../../lib/schema/settings.ts'
import { watchArguments } from '../../helpers/process/argument-watch.ts'
import { childrenOf } from '../../helpers/process/processes.ts'

const checks = createAdvancedChecks({ allowFiles: false })
const check = (raw_pipeline: string, settings = DEFAULT_SETTINGS) => checks.check({ raw_pipeline }, settings)
const checkWithFiles = (raw_pipeline: string, allowFiles: boolean | string) =>
  createAdvancedChecks({ allowFiles }).check({ raw_pipeline }, DEFAULT_SETTINGS)

describe('the check of an advanced pipeline', () => {
  it.each([
    ['videotestsrc is-live=true ! x264enc ! rtph264pay name=pay0', 1],
    ['( videotestsrc is-live=true ! x264enc ! rtph264pay name="pay0" pt=96 )', 1],
    ["videotestsrc ! x264enc ! rtph264pay name = 'pay0'\n\tvideotestsrc ! jpegenc ! rtpjpegpay name=pay1", 2],
    ['videotestsrc ! video/x-raw, format = (string) I420 , width=320 ! fakesink', 0],
    ['videotestsrc name="a b" ! fakesink', 0],
    ['videotestsrc name="a -b" ! fakesink', 0],
    ['videotestsrc name="--version" ! fakesink', 0],
    ['videotestsrc name="a \\" -b" ! fakesink', 0],
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

  it.each([
    'fakesrc ! fakesink'.padEnd(16384, ' '),
    `fakesrc${' '.repeat(16366)}! fakesink`,
    'videotestsrc ! fakesink'.replaceAll(' ', `\n${' '.repeat(5000)}`),
  ])('accepts more blanks between elements than a sandbox takes arguments', async (description) => {
    expect(await check(description)).toMatchObject({ publishes: false })
  })

  it.each(['( ', 'a', '"', 'a="', 'x264enc ! '])('survives sixteen thousand characters of %j', async (unit) => {
    await expect(check(unit.repeat(Math.floor(16384 / unit.length)))).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  it.each([
    'videotestsrc !',
    'videotestsrc :',
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
    'videotestsrc ! x264enc pass=pass1 ! fakesink',
    'videotestsrc ! x264enc pass=17 ! fakesink',
    'videotestsrc ! avenc_mpeg4 pass=512 ! fakesink',
    'videotestsrc ! vp8enc multipass_mode=first-pass ! fakesink',
    'videotestsrc ! x265enc option-string="bframes=0:pass=1" ! fakesink',
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

  // Each hides what a property does: behind the escapes of strings, another spelling, or a property of another name.
  it.each([
    [String.raw`playbin uri="\"\\146ile:///etc/passwd\""`, 'uri'],
    [String.raw`playbin uri=\"\\146\\151\\154\\145:///etc/passwd\"`, 'uri'],
    [String.raw`playbin uri="\"f\\ile:///etc/passwd\""`, 'uri'],
    [String.raw`playbin uri="\"file\\072///etc/passwd\""`, 'uri'],
    [String.raw`playbin suburi="\"\\146ile:///x\"" uri=http://h/x`, 'uri'],
    [String.raw`uridecodebin uri="\"\\144ata:,x\"" ! fakesink`, 'uri'],
    [String.raw`rtspsrc location="\"\\057etc/passwd\"" ! fakesink`, 'location'],
    ['videotestsrc ! x264enc option-string="dump_yuv=/tmp/x" ! fakesink', 'option-string'],
    ['videotestsrc ! x264enc option_string="dump_yuv=/tmp/x" ! fakesink', 'option-string'],
    [String.raw`videotestsrc ! x264enc option-string="\"dump\\137yuv=/tmp/x\"" ! fakesink`, 'option-string'],
    [String.raw`videotestsrc ! x264enc option-string="\"st\\141ts\\075/tmp/x\"" ! fakesink`, 'option-string'],
    ['videotestsrc ! x264enc option-string="bframes=0:qpfile=/tmp/x" ! fakesink', 'option-string'],
    ['videotestsrc ! x264enc option-string="cqm=/tmp/x" ! fakesink', 'option-string'],
    ['videotestsrc ! x264enc option-string="opencl_clbin=/tmp/x" ! fakesink', 'option-string'],
    ['videotestsrc ! x265enc option-string="scaling_list=/tmp/x" ! fakesink', 'option-string'],
    ['videotestsrc ! x265enc option-string="analysis_save=/tmp/x" ! fakesink', 'option-string'],
    ['videotestsrc ! avenc_h264_omx omx-libname=/tmp/x.so ! fakesink', 'library'],
    ['videotestsrc ! avenc_h264_omx omx_libname=/tmp/x.so ! fakesink', 'library'],
    ['videotestsrc ! avenc_mpeg4_omx omx-libprefix=/tmp/ ! fakesink', 'library'],
    ['videotestsrc ! jpegenc ! curlhttpsink location=https://h/ crypto-engine=/tmp/x.so', 'library'],
    ['qtmoovrecover recovery-input=/tmp/a broken-input=/tmp/b fixed-output=/tmp/c', 'qtmoovrecover'],
    ['qtmoovrecover fixed_output=/tmp/c', 'qtmoovrecover'],
    ['videotestsrc ! x264enc ! avmux_hls ! fakesink', 'avmux_hls'],
    ['videotestsrc ! x264enc ! avmux_dash ! fakesink', 'avmux_dash'],
    ['videotestsrc ! lcms input-profile=/etc/passwd ! fakesink', 'input-profile'],
    ['fluiddec soundfont=/etc/passwd ! fakesink', 'soundfont'],
    ['uvch264src colorspace-name=filesrc ! fakesink', 'filesrc'],
    ['rtpbin fec-encoders="fec,0=(string)filesink"', 'filesink'],
    [String.raw`rtpbin fec-decoders='fec,0="\146ilesrc"'`, 'filesrc'],
    ['cdiocddasrc device=/dev/../srv/x.iso ! fakesink', 'device'],
    ['cdparanoiasrc generic-device=/srv/x.iso ! fakesink', 'generic-device'],
    ['videotestsrc ! mp4mux faststart_file=/tmp/x ! fakesink', 'faststart-file'],
    ['queue2 temp_template=/tmp/x-XXXXXX ! fakesink', 'temp-template'],
  ])('refuses %s and names the cause', async (description, cause) => {
    const named = { uri: 'Addresses of the kind', library: 'a library' }[cause] ?? cause
    await expect(check(description)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
      details: { issues: [{ path: 'raw_pipeline', message: expect.stringContaining(named) }] },
    })
  })

  it.each([
    String.raw`videotestsrc ! x264enc ! matroskamux writing-app="\"\\146ile and filesink\"" ! fakesink`,
    'videotestsrc ! x264enc option-string="b_adapt=0:scenecut=0" ! fakesink',
    'videotestsrc ! x264enc ! matroskamux writing-app="Time: 12" ! fakesink',
    'souphttpsrc location="http://h/x?file=1" ! fakesink',
    'videotestsrc ! x264enc pass=qual quantizer=22 option-string="8x8dct=1" ! fakesink',
    'videotestsrc ! vp8enc multipass-mode=one-pass ! fakesink',
  ])('accepts %s, which only looks like an attack', async (description) => {
    expect(await check(description)).toMatchObject({ publishes: false })
  })

  it('reads the payloader name as the element does', async () => {
    const { publishes } = await check(String.raw`videotestsrc is-live=true ! x264enc ! rtph264pay name="\"\\160ay0\""`)
    expect(publishes).toBe(true)
  })

  it('never allows what is on the built-in list, and refuses what the settings add', async () => {
    const settings = { ...DEFAULT_SETTINGS, advanced: { enabled: true, denied_elements: ['x264enc'] } }
    const checked = (raw_pipeline: string) => check(raw_pipeline, settings)
    await expect(checked('filesrc location=http://x ! fakesink')).rejects.toThrow('The element filesrc is not allowed here')
    await expect(checked('fdsrc fd=0 ! fakesink')).rejects.toThrow('The element fdsrc is not allowed here')
    await expect(checked('videotestsrc ! x264enc ! fakesink')).rejects.toThrow('The element x264enc is not allowed here')
    expect((await checked('videotestsrc ! fakesink')).publishes).toBe(false)
  })

  it('allows the elements that read files where the operator has given a folder for them, and no others', async () => {
    const checked = (raw_pipeline: string) => checkWithFiles(raw_pipeline, '/srv/video')
    for (const name of ['filesrc', 'multifilesrc']) {
      expect((await checked(`${name} location=/srv/video/a ! fakesink`)).publishes).toBe(false)
    }
    await expect(checked('videotestsrc ! filesink location=/srv/video/a')).rejects.toThrow('The element filesink is not allowed here')
    await expect(checked('videotestsrc ! avenc_h264_omx omx-libname=/srv/x.so ! fakesink')).rejects.toThrow('names a library')
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
    expect((await checkWithFiles('uridecodebin uri=file:///srv/a.mp4 name=d d. ! fakesink', true)).publishes).toBe(false)
    await expect(checkWithFiles('filesrc location=/srv/a.mp4 ! fakesink', true)).rejects.toMatchObject({ code: 'VALIDATION_ERROR' })
  })

  it.each([
    ['is killed', 'kill -9 $$'],
    ['crashes', 'kill -11 $$'],
    ['fails', 'exit 1'],
  ])('refuses an address while the list of what opens it cannot be read, and asks again: gst-inspect-1.0 %s', async (_, script) => {
    const folder = mkdtempSync(join(tmpdir(), 'inspect-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, 'gst-inspect-1.0'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const { check } = createAdvancedChecks({ allowFiles: false })
    const checked = () => check({ raw_pipeline: 'playbin uri=pushfile:///x' }, DEFAULT_SETTINGS)
    vi.stubEnv('PATH', `${folder}${delimiter}${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(checked()).rejects.toThrow('did not finish reading')
    vi.unstubAllEnvs()
    await expect(checked()).rejects.toThrow('Addresses of the kind pushfile: are not allowed here')
  })

  it('refuses every description when advanced pipelines are switched off', async () => {
    const settings = { ...DEFAULT_SETTINGS, advanced: { ...DEFAULT_SETTINGS.advanced, enabled: false } }
    await expect(check('videotestsrc ! fakesink', settings)).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    })
  })

  it('runs four processes at a time, lets 64 checks wait and refuses more', async () => {
    const results = Promise.allSettled(Array.from({ length: 80 }, () => check('fakesrc ! fakesink')))
    let [done, most] = [false, 0]
    void results.then(() => {
      done = true
    })
    while (!done) {
      most = Math.max(most, childrenOf(process.pid).filter(({ command }) => command.includes('gst-launch-1.0')).length)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const outcomes = await results
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(68)
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
    for (const reason of reasons) expect(reason).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'busy' } })
    expect(reasons).toHaveLength(12)
    // Counted every few milliseconds, so it may miss one.
    expect([most > 1, most <= 4]).toEqual([true, true])
  })

  it('gives no credential to a process', async () => {
    const watch = await watchArguments(process.pid, ['hunter2', 'hunter3', 'hunter4'])
    for (let round = 0; round < 5; round += 1)
      await check('souphttpsrc location=http://admin:hunter2@h/x user-pw="hunter3 !" extra-headers="h,authorization=hunter4" ! fakesink')
    const { found, processes } = await watch.stop()
    expect([found, processes > 0]).toEqual([[], true])
  })

  it('shows no credential of the description', async () => {
    const failure = check('rtspsrc location=rtsp://admin:hunter2@h/x foo=1 ! fakesink')
    await expect(failure).rejects.toSatisfy(
      (error: { message: string; details: unknown }) => !JSON.stringify([error.message, error.details]).includes('hunter2'),
    )
  })
})

describe('the check before a start', () => {
  const { signal } = new AbortController()
  const config = (raw_pipeline: string) => ({ raw_pipeline })
  const withAdvanced = (advanced: Partial<typeof DEFAULT_SETTINGS.advanced>) => ({
    ...DEFAULT_SETTINGS,
    advanced: { ...DEFAULT_SETTINGS.advanced, ...advanced },
  })

  it('refuses what was allowed when it was created, also an element that another one contains', async () => {
    const checks = createAdvancedChecks({ allowFiles: false })
    const hidden = config('playbin uri=http://h/x video-sink="videoconvert ! fakesink"')
    await checks.check(hidden, DEFAULT_SETTINGS)
    await checks.checkStart(hidden, DEFAULT_SETTINGS, signal)
    const denied = checks.checkStart(hidden, withAdvanced({ denied_elements: ['videoconvert'] }), signal)
    await expect(denied).rejects.toThrow('The element videoconvert is not allowed here')
    const off = checks.checkStart(hidden, withAdvanced({ enabled: false }), signal)
    await expect(off).rejects.toThrow('Advanced pipelines are switched off')
    await checks.checkStart(hidden, DEFAULT_SETTINGS, signal)
  })

  it('fails for a time only when too many are checked at once, as when all pipelines start', async () => {
    const checks = createAdvancedChecks({ allowFiles: false })
    const aborted = new AbortController()
    const outcomes = Array.from({ length: 80 }, (_, index) =>
      checks.checkStart(config(`fakesrc name=s${index} ! fakesink`), DEFAULT_SETTINGS, aborted.signal).catch((error: unknown) => error),
    )
    const refused = await outcomes.at(-1)
    aborted.abort()
    await Promise.all(outcomes)
    expect(refused).toMatchObject({ name: 'Fault', reason: 'timeout', permanent: false })
  })

  it('leaves what GStreamer rejects to the run, which says why', async () => {
    const checked = createAdvancedChecks({ allowFiles: false }).checkStart(config('nosuchelement ! fakesink'), DEFAULT_SETTINGS, signal)
    expect(await checked).toBeUndefined()
  })
})
