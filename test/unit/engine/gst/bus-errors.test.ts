import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { classifyEnd } from '../../../../engine/gst/bus-errors.ts'

/** What gst-launch-1.0 prints for an error of an element. */
const errorOf = (element: string, text: string): string => `ERROR: from element /GstPipeline:pipeline0/${element}: ${text}`

const failed = { exitCode: 1, signal: null, missing: false } as const

/** Recorded stderr of gst-launch-1.0 1.22; of the camera in use, according to its source code. */
const RECORDED = readFileSync(new URL('../../../fixtures/gstreamer/recorded-ends.txt', import.meta.url), 'utf8')
  .split(/^== /m)
  .slice(1)
  .map((end) => {
    const [, reason = '', what = '', stderr = ''] = /^(\w+): (.+)\n([\s\S]*)\n$/.exec(end) ?? []
    return [what, reason, stderr] as const
  })

describe('classifyEnd', () => {
  it.each(RECORDED)('classifies %s as %s', (_what, reason, stderr) => {
    const fault = classifyEnd(failed, stderr.split('\n'))
    expect(fault.reason).toBe(reason)
    expect(fault.message).not.toMatch(/\$\d|undefined|GstPipeline/)
  })

  it('reports a missing file as a file, not as a response of a server', () => {
    const lines = [errorOf('GstFileSrc:filesrc0', 'Resource not found.'), 'No such file "/nope"']
    expect(classifyEnd(failed, lines).message).toContain('The file does not exist')
  })

  it('names the package of a missing element', () => {
    const messageOf = (element: string) => classifyEnd(failed, [`WARNING: erroneous pipeline: no element "${element}"`]).message
    expect(messageOf('x264enc')).toContain('apt-get install gstreamer1.0-plugins-ugly')
    expect(messageOf('avdec_h264')).toContain('gstreamer1.0-libav')
  })

  it('does not take another error of an HTTP source for a codec', () => {
    const lines = [errorOf('GstSoupHTTPSrc:souphttpsrc0', 'Internal data stream error.'), 'streaming stopped, reason error (-5)']
    expect(classifyEnd(failed, lines).reason).toBe('crashed')
  })

  it('advises no encoding to an advanced pipeline, which has none', () => {
    const lines = [errorOf('GstVideoTestSrc:a', 'Internal data stream error.'), 'streaming stopped, reason not-linked (-1)']
    expect(classifyEnd(failed, lines).message).toContain('Set encoding')
    expect(classifyEnd(failed, lines, true)).toMatchObject({ reason: 'unsupported', message: expect.stringContaining('raw_pipeline') })
  })

  it.each([
    ['an end of the stream', { exitCode: 0, signal: null, missing: false }, 'ended'],
    ['a crash', { exitCode: null, signal: 'SIGSEGV', missing: false }, 'crashed'],
    ['an unknown error', { exitCode: 255, signal: null, missing: false }, 'crashed'],
    ['a missing program', { exitCode: 127, signal: null, missing: true }, 'engine_missing'],
  ] as const)('classifies %s with an empty stderr', (_what, ended, reason) => {
    expect(classifyEnd(ended, []).reason).toBe(reason)
  })

  it('ignores warnings about tracks that do not exist', () => {
    const lines = ['WARNING: from element /GstPipeline:pipeline0/GstTSDemux:tracks: Delayed linking failed.', 'Additional debug info:']
    expect(classifyEnd({ exitCode: 0, signal: null, missing: false }, lines).reason).toBe('ended')
  })

  it('masks credentials in the error of GStreamer', () => {
    const fault = classifyEnd(failed, [errorOf('GstX:x0', 'Strange thing at rtsp://admin:hunter2@10.0.0.5/x')])
    expect(fault.message).toContain('rtsp://***@10.0.0.5/x')
    expect(fault.message).not.toContain('hunter2')
  })
})

it.each([
  ['EMFILE', 'LimitNOFILE'],
  ['EAGAIN', 'TasksMax'],
  ['ENOMEM', 'memory'],
  ['EPERM', 'EPERM'],
])('a process that the host does not let start for %s is tried again, with advice', (refused, advice) => {
  const fault = classifyEnd({ exitCode: null, signal: null, missing: false, refused }, [])
  expect(fault).toMatchObject({ reason: 'crashed', permanent: false, message: expect.stringContaining(advice) })
  expect(fault.message).not.toMatch(/null|undefined/)
})

it.each([
  'bwrap: Creating new namespace failed: Resource temporarily unavailable',
  "(gst-launch-1.0:1): GLib-ERROR **: 01:10:46.107: creating thread 'gmain': Error creating thread: Resource temporarily unavailable",
])('a process that may start no thread says which limit to raise: %s', (line) => {
  expect(classifyEnd(failed, [line])).toMatchObject({ reason: 'crashed', message: expect.stringContaining('TasksMax') })
})

it('a process that was killed says that memory may be the reason', () => {
  const fault = classifyEnd({ exitCode: null, signal: 'SIGKILL', missing: false }, [])
  expect(fault).toMatchObject({ reason: 'crashed', message: expect.stringContaining('memory') })
})
