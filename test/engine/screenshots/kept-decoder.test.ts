import { execFileSync } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GdpReader } from '../../../engine/gst/gdp.ts'
import { DecoderKeeper, KeptMemory } from '../../../engine/screenshots/decode/decoder-keeper.ts'
import { toDecoder } from '../../../engine/screenshots/decode/decoder-line.ts'
import { KeptDecoder } from '../../../engine/screenshots/decode/kept-decoder.ts'
import { childrenOf, pidOf } from '../../helpers/process/processes.ts'
import { until } from '../../helpers/until.ts'

interface Coding {
  readonly encoding: string
  readonly encoder: string
}

/** Enough for a picture on a busy host. */
const BUSY_MS = 20_000

const CODECS: Readonly<Record<string, Coding>> = {
  H264: { encoding: 'H264', encoder: 'x264enc tune=zerolatency ! rtph264pay config-interval=-1' },
  'H264 that reorders pictures': { encoding: 'H264', encoder: 'x264enc bframes=3 b-adapt=false ! rtph264pay config-interval=-1' },
  H265: { encoding: 'H265', encoder: 'x265enc ! rtph265pay config-interval=-1' },
  VP8: { encoding: 'VP8', encoder: 'vp8enc deadline=1 ! rtpvp8pay' },
  VP9: { encoding: 'VP9', encoder: 'vp9enc deadline=1 cpu-used=8 ! rtpvp9pay' },
  JPEG: { encoding: 'JPEG', encoder: 'jpegenc ! rtpjpegpay' },
}

/** The packets of a key frame of one color. */
const keyFrameOf = (encoder: string, pattern: 'white' | 'red', size = '320,height=240') => {
  const line = `-q videotestsrc num-buffers=1 pattern=${pattern} ! video/x-raw,format=I420,width=${size},framerate=30/1 ! ${encoder} ! gdppay ! fdsink fd=1`
  const packets: Buffer[] = []
  const reader = new GdpReader(65_535, { onBuffer: ({ payload }) => packets.push(payload) })
  reader.push(execFileSync('gst-launch-1.0', line.split(' ')))
  return { packets: () => packets }
}

const decoderOf = (encodingName: string, quality = 85) => {
  const caps = { media: 'video', encodingName, payload: 96, clockRate: 90000, parameters: new Map() } as const
  return toDecoder({ caps, single: true, generic: false, kept: true, quality, width: null })
}

const colorOf = (jpeg: Buffer | undefined): string => {
  if (jpeg === undefined) return 'none'
  const [red = 0, green = 0] = execFileSync('ffmpeg', '-v error -f mjpeg -i - -vf scale=1:1,format=rgb24 -f rawvideo -'.split(' '), {
    input: jpeg,
  })
  if (red < 200) return 'neither'
  return green > 200 ? 'white' : 'red'
}

const decoders = () => childrenOf(process.pid).filter(({ command }) => command.includes('jpegenc'))
const noDecoder = () => until(decoders, (left) => left.length === 0)

describe('a kept decoder', () => {
  it.each(Object.entries(CODECS))('gives the picture of each key frame of %s at once', async (_, { encoding, encoder }) => {
    const kept = new KeptDecoder(decoderOf(encoding), BUSY_MS)
    onTestFinished(() => kept.close())
    const frames = { white: keyFrameOf(encoder, 'white'), red: keyFrameOf(encoder, 'red') }
    const colors = ['white', 'red', 'red', 'white', 'red'] as const
    const seen: string[] = []
    // The packets have the same numbers and times again and again.
    for (const color of colors) seen.push(colorOf((await kept.decode(frames[color]))?.jpeg))
    expect(seen).toEqual(colors)
    expect(new Set(decoders().map(({ pid }) => pid)).size).toBe(1)
  })

  it('gives pictures of another size when the stream changes', async () => {
    const kept = new KeptDecoder(decoderOf('H264'), BUSY_MS)
    onTestFinished(() => kept.close())
    const encoder = CODECS.H264?.encoder ?? ''
    expect(await kept.decode(keyFrameOf(encoder, 'white'))).toMatchObject({ width: 320, height: 240 })
    expect(await kept.decode(keyFrameOf(encoder, 'white', '640,height=360'))).toMatchObject({ width: 640, height: 360 })
  })

  it('ends without a picture when there is none, when it is killed, and when it is too late', async () => {
    const frame = keyFrameOf(CODECS.H264?.encoder ?? '', 'white')
    const garbage = { packets: () => [Buffer.alloc(1000, 0x47)] }
    const noPicture = new KeptDecoder(decoderOf('H264'), 1000)
    expect(await noPicture.decode(garbage)).toBeUndefined()
    expect(noPicture.serves(decoderOf('H264'))).toBe(false)
    await noDecoder()
    const killed = new KeptDecoder(decoderOf('H264'), BUSY_MS)
    expect(await killed.decode(frame)).toBeDefined()
    process.kill(pidOf(decoders()[0]), 'SIGKILL')
    expect(await killed.decode(frame)).toBeUndefined()
    await noDecoder()
    const late = new KeptDecoder(decoderOf('H264'), 1000)
    const [decoder] = await until(decoders, (found) => found.length > 0)
    process.kill(pidOf(decoder), 'SIGSTOP')
    expect(await late.decode(frame)).toBeUndefined()
    await noDecoder()
  })
})

describe('the keeper of a decoder', () => {
  const frame = keyFrameOf(CODECS.H264?.encoder ?? '', 'white')
  const job = { decoder: decoderOf('H264'), keyFrame: frame, nextWithinMs: 10_000 }
  const PIXELS = 320 * 240

  it('keeps one process, renews it for another format, and ends it when nobody comes', async () => {
    const keeper = new DecoderKeeper(new KeptMemory(), BUSY_MS)
    onTestFinished(() => keeper.close())
    const pids: number[] = []
    for (const decoder of [job.decoder, job.decoder, decoderOf('H264', 10), decoderOf('H264', 10)]) {
      expect(await keeper.decode({ ...job, decoder, nextWithinMs: -4000 })).toMatchObject({ width: 320 })
      const [first, ...others] = await until(decoders, (found) => found.length === 1)
      expect(others).toEqual([])
      pids.push(pidOf(first))
    }
    expect([pids[0] === pids[1], pids[1] === pids[2], pids[2] === pids[3]]).toEqual([true, false, true])
    await noDecoder()
    expect(await keeper.decode(job)).toBeDefined()
    keeper.close()
    await noDecoder()
  })

  it('keeps none without memory for it, or for rare pictures', async () => {
    const memory = new KeptMemory(17 * 1024 * 1024 + 12 * PIXELS)
    const [one, other] = [new DecoderKeeper(memory, BUSY_MS), new DecoderKeeper(memory, BUSY_MS)]
    onTestFinished(() => one.close())
    expect(await one.decode(job)).toBeDefined()
    expect(await other.decode(job)).toBeDefined()
    await until(decoders, (left) => left.length === 1)
    one.close()
    await noDecoder()
    expect(await other.decode(job)).toBeDefined()
    expect(decoders()).toHaveLength(1)
    other.close()
    await noDecoder()
    expect(await one.decode({ ...job, nextWithinMs: 60_000 })).toBeUndefined()
    expect(decoders()).toEqual([])
  })

  it('leaves the next pictures to other processes for a while after a failure', async () => {
    const keeper = new DecoderKeeper(new KeptMemory())
    expect(await keeper.decode({ ...job, keyFrame: { packets: () => [] } })).toBeUndefined()
    expect(await keeper.decode(job)).toBeUndefined()
    await noDecoder()
    expect(decoders()).toEqual([])
  })
})
