import { expect, it, vi } from 'vitest'

it('names the package of the first element that GStreamer lacks, and asks for each that it has once', async () => {
  // Apart from what other tests of this process have found.
  vi.resetModules()
  const { requireElements } = await import('../../../../engine/launch/require-elements.ts')
  const installed = new Set(['srtsrc', 'queue'])
  const run = vi.fn(async (_program: string, [, name = '']: readonly string[]) => ({ exitCode: installed.has(name) ? 0 : 1 }) as never)
  const line = (...shown: string[]) => requireElements({ shown }, run)
  const missing = {
    reason: 'missing_element',
    message: expect.stringMatching(/^The element tsdemux .*apt-get install gstreamer1.0-plugins-bad$/),
  }
  await expect(
    line('srtsrc', 'uri=srt://h:1', '!', 'queue', '!', 'video/x-raw,width=1', '!', 'tsdemux', 'name=t', 't.'),
  ).rejects.toMatchObject(missing)
  installed.add('tsdemux')
  await line('srtsrc', '!', 'queue', '!', 'tsdemux')
  expect(run.mock.calls.map(([, [, name]]) => name)).toEqual(['srtsrc', 'queue', 'tsdemux', 'tsdemux'])
})
