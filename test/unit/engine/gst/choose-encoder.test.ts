import { describe, expect, it } from 'vitest'
import type { Finished } from '../../../../engine/gst/child.ts'
import { chooseEncoder } from '../../../../engine/gst/choose-encoder.ts'
import { ENCODERS } from '../../../../engine/gst/encoder-table.ts'

const finished = (exitCode: number, stdout = ''): Finished => ({
  exitCode,
  signal: null,
  missing: false,
  stdout,
  stderr: '',
  timedOut: false,
})

/** A host with these elements, of which these encode. */
const host = (has: readonly string[], encodes: readonly string[] = has) => {
  const calls: string[] = []
  const run = async (file: string, args: readonly string[]): Promise<Finished> => {
    calls.push([file, ...args].join(' '))
    if (file === 'gst-inspect-1.0') return finished(has.includes(args[1] ?? '') ? 0 : 1)
    return finished(encodes.some((name) => args.includes(name)) ? 0 : 1, encodes.some((name) => args.includes(name)) ? 'frame' : '')
  }
  return { run, calls }
}

describe('chooseEncoder', () => {
  it.each([
    ['h264', 'auto', ['x264enc', 'openh264enc'], ['x264enc', 'openh264enc'], 'x264enc'],
    ['h264', 'auto', ['openh264enc'], ['openh264enc'], 'openh264enc'],
    ['h264', 'auto', ['vah264enc', 'x264enc'], ['vah264enc', 'x264enc'], 'vah264enc'],
    ['h264', 'auto', ['vah264enc', 'x264enc'], ['x264enc'], 'x264enc'],
    ['h264', 'software', ['vah264enc', 'x264enc'], ['vah264enc', 'x264enc'], 'x264enc'],
    ['h264', 'hardware', ['v4l2h264enc', 'x264enc'], ['v4l2h264enc', 'x264enc'], 'v4l2h264enc'],
    ['h265', 'auto', ['x264enc', 'x265enc'], ['x264enc', 'x265enc'], 'x265enc'],
  ] as const)('chooses for %s with preference %s among %j, of which %j work: %s', async (codec, preference, has, works, name) => {
    expect((await chooseEncoder(codec, preference, host(has, works).run)).name).toBe(name)
  })

  it.each([
    ['h264', 'auto', 'gstreamer1.0-plugins-ugly'],
    ['h264', 'software', 'gstreamer1.0-plugins-ugly or gstreamer1.0-plugins-bad'],
    ['h265', 'auto', 'apt-get install gstreamer1.0-plugins-bad'],
    ['h264', 'hardware', 'encoder.preference'],
  ] as const)('advises what to install when none works for %s with preference %s', async (codec, preference, advice) => {
    await expect(chooseEncoder(codec, preference, host([]).run)).rejects.toMatchObject({
      reason: 'missing_element',
      message: expect.stringContaining(advice),
    })
  })

  it('probes a working encoder once, and a missing one again', async () => {
    const has: string[] = []
    const { run, calls } = host(has)
    await expect(chooseEncoder('h265', 'software', run)).rejects.toMatchObject({ reason: 'missing_element' })
    has.push('x265enc')
    await chooseEncoder('h265', 'software', run)
    const asked = calls.length
    await Promise.all([chooseEncoder('h265', 'software', run), chooseEncoder('h265', 'software', run)])
    expect(calls).toHaveLength(asked)
  })

  it('answers engine_missing without the programs of GStreamer', async () => {
    const run = async (): Promise<Finished> => ({ ...finished(127), missing: true })
    await expect(chooseEncoder('h264', 'auto', run)).rejects.toMatchObject({ reason: 'engine_missing' })
  })
})

describe('a host that has too much to do', () => {
  const late: Finished = { ...finished(0), exitCode: null, signal: 'SIGKILL', timedOut: true }

  it.each([
    ['does not answer in time', late, 'timeout'],
    ['starts no further program', { ...late, signal: null, timedOut: false, refused: 'EMFILE' }, 'crashed'],
    ['makes no further sandbox', { ...finished(1), refused: 'bwrap: Creating new namespace failed' }, 'crashed'],
  ] as const)('that %s has a fault that is tried again, and no missing encoder', async (_name, answer, reason) => {
    await expect(chooseEncoder('h264', 'auto', async () => answer)).rejects.toMatchObject({ reason, permanent: false })
  })

  it('gives the software encoder for now, and the hardware encoder when it works', async () => {
    const { run } = host(['vah264enc', 'x264enc'])
    let busy = true
    const slow = async (file: string, args: readonly string[]): Promise<Finished> =>
      busy && file === 'gst-launch-1.0' ? late : run(file, args)
    expect((await chooseEncoder('h264', 'auto', slow)).name).toBe('x264enc')
    busy = false
    expect((await chooseEncoder('h264', 'auto', slow)).name).toBe('vah264enc')
  })
})

describe('the encoders', () => {
  // V4L2's stateful encoders have no speed presets.
  const graded = ENCODERS.filter(({ hardware }) => !hardware)

  it.each(graded.map((encoder) => [encoder.name, encoder] as const))('%s has ten different qualities', (_name, encoder) => {
    const lines = Array.from({ length: 10 }, (_, index) => encoder.tokens({ bitrate: 2000, quality: index + 1, keyInterval: 60 }).join(' '))
    expect(new Set(lines).size).toBe(10)
  })

  it.each(ENCODERS.map((encoder) => [encoder.name, encoder] as const))(
    '%s gets the bitrate and the key frame interval',
    (_name, encoder) => {
      const line = encoder.tokens({ bitrate: 1234, quality: 7, keyInterval: 57 }).join(' ')
      expect(line).toMatch(/1234/)
      expect(line).toMatch(/57/)
      expect(line).not.toMatch(/undefined|NaN/)
    },
  )
})
