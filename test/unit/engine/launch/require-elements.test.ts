import { beforeEach, expect, it, vi } from 'vitest'

type RequireElements = typeof import('../../../../engine/launch/require-elements.ts')['requireElements']
let requireElements: RequireElements

beforeEach(async () => {
  // Apart from what other tests of this process have found.
  vi.resetModules()
  ;({ requireElements } = await import('../../../../engine/launch/require-elements.ts'))
})

const hostWith = (installed: readonly string[]) => {
  const lines = () => installed.map((name) => `plugin:  ${name}: What it is: a description`).join('\n')
  return vi.fn(async () => ({ exitCode: 0, stdout: `${lines()}\n\nTotal count: 1 plugin, 1 feature` }) as never)
}

it('names the package of the first element that GStreamer lacks, and searches again until each was found', async () => {
  const installed = ['srtsrc', 'queue']
  const run = hostWith(installed)
  const line = (...shown: string[]) => requireElements({ shown }, run)
  const missing = {
    reason: 'missing_element',
    message: expect.stringMatching(/^The element tsdemux .*apt-get install gstreamer1.0-plugins-bad$/),
  }
  await expect(
    line('srtsrc', 'uri=srt://h:1', '!', 'queue', '!', 'video/x-raw,width=1', '!', 'tsdemux', 'name=t', 't.'),
  ).rejects.toMatchObject(missing)
  installed.push('tsdemux')
  await line('srtsrc', '!', 'queue', '!', 'tsdemux')
  await line('srtsrc', '!', 'tsdemux')
  expect(run).toHaveBeenCalledTimes(2)
})

it('starts one process for all pipelines that are created at the same time', async () => {
  const run = hostWith(['videotestsrc', 'x264enc', 'fdsink'])
  await Promise.all(Array.from({ length: 11 }, () => requireElements({ shown: ['videotestsrc', '!', 'x264enc', '!', 'fdsink'] }, run)))
  expect(run).toHaveBeenCalledTimes(1)
})

it('does not take the silence of an overloaded host for a missing element', async () => {
  const run = vi.fn(async () => ({ exitCode: null, stdout: '' }) as never)
  await expect(requireElements({ shown: ['fdsink'] }, run)).rejects.toMatchObject({ reason: 'timeout' })
})
