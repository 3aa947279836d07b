import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runToEnd } from '../../../engine/gst/child.ts'
import { chooseEncoder } from '../../../engine/gst/choose-encoder.ts'
import { chain, element, property, toArguments } from '../../../engine/gst/element.ts'
import { ENCODERS } from '../../../engine/gst/encoder-table.ts'

const FPS = 25
const SECONDS = 6
const KBPS = 800

const software = ENCODERS.filter(({ hardware }) => !hardware)

/** Elements that pad simple pictures up to the bitrate; openh264enc cannot. */
const FILLS: readonly string[] = ['x264enc', 'x265enc']

interface Frame {
  readonly key_frame: number
  readonly pict_type: string
  readonly pix_fmt: string
}

describe('the encoders of this host', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'encoders-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  const encode = async (
    name: string,
    quality: number,
    pattern: string,
    { frameCount, size }: { readonly frameCount: number; readonly size: string } = {
      frameCount: FPS * SECONDS,
      size: 'width=640,height=360',
    },
  ): Promise<string> => {
    const encoder = software.find((candidate) => candidate.name === name)
    if (encoder === undefined) throw new Error(`no ${name}`)
    const file = join(folder, `${name}-${quality}-${pattern}.${encoder.codec}`)
    const line = chain(
      element('videotestsrc', { 'num-buffers': frameCount, pattern }),
      [`video/x-raw,format=${encoder.pixelFormat},${size},framerate=${FPS}/1`],
      encoder.tokens({ bitrate: KBPS, quality, keyInterval: 50 }),
      element(`${encoder.codec}parse`),
      [`video/x-${encoder.codec},stream-format=byte-stream`],
      ['filesink', property('location', file)],
    )
    const { exitCode, stderr } = await runToEnd('gst-launch-1.0', ['-q', '--', ...toArguments(line)], { timeoutMs: 30_000, reach: {} })
    if (exitCode !== 0) throw new Error(stderr)
    return file
  }

  const frames = (file: string): readonly Frame[] => {
    const query = ['-v', 'error', '-show_entries', 'frame=key_frame,pict_type,pix_fmt', '-of', 'json', file]
    return (JSON.parse(execFileSync('ffprobe', query, { encoding: 'utf8' })) as { frames: Frame[] }).frames
  }

  it.each(software.map(({ name }) => name))('%s: every quality works', async (name) => {
    const few = { frameCount: 3, size: 'width=160,height=96' }
    for (let quality = 1; quality <= 10; quality++) expect(statSync(await encode(name, quality, 'smpte', few)).size).toBeGreaterThan(500)
  })

  it.each(software.map(({ name }) => name))('%s: 4:2:0, no B-frames, a key frame every 50 frames, the configured bitrate', async (name) => {
    const file = await encode(name, 5, 'smpte')
    const seen = frames(file)
    expect(seen).toHaveLength(FPS * SECONDS)
    expect(new Set(seen.map(({ pix_fmt }) => pix_fmt))).toEqual(new Set(['yuv420p']))
    expect(seen.filter(({ pict_type }) => pict_type === 'B')).toHaveLength(0)
    expect(seen.flatMap(({ key_frame }, index) => (key_frame === 1 ? [index] : []))).toEqual([0, 50, 100])
    const kbps = (statSync(file).size * 8) / 1000 / SECONDS
    expect(kbps).toBeGreaterThan(KBPS * 0.85)
    expect(kbps).toBeLessThan(KBPS * 1.15)
  })

  it.each(FILLS)('%s: the configured bitrate also for a nearly empty picture', async (name) => {
    const kbps = (statSync(await encode(name, 7, 'ball')).size * 8) / 1000 / SECONDS
    expect(kbps).toBeGreaterThan(KBPS * 0.85)
    expect(kbps).toBeLessThan(KBPS * 1.15)
  })

  it('are chosen from the installed ones', async () => {
    expect((await chooseEncoder('h264', 'software', runToEnd)).name).toBe('x264enc')
    expect((await chooseEncoder('h265', 'auto', runToEnd)).codec).toBe('h265')
  })
})
