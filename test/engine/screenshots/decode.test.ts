import { execFileSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { runToEnd } from '../../../engine/gst/child.ts'
import { GdpReader } from '../../../engine/gst/gdp.ts'
import type { RtpCaps } from '../../../engine/rtp/caps.ts'
import type { RtpStream } from '../../../engine/rtp/stream.ts'
import { decodeToJpeg } from '../../../engine/screenshots/decode/decode-to-jpeg.ts'
import { KeptMemory } from '../../../engine/screenshots/decode/decoder-keeper.ts'
import { toDecoder } from '../../../engine/screenshots/decode/decoder-line.ts'
import { ScreenshotDecoder } from '../../../engine/screenshots/decode/screenshot-decoder.ts'
import { createDecodeSlots } from '../../../engine/screenshots/decode/slots.ts'
import { readJpeg } from '../../../engine/screenshots/jpeg/jpeg.ts'
import { frameShownIn } from '../../helpers/media/frame-clock.ts'
import { childrenOf, pidOf } from '../../helpers/process/processes.ts'
import { h264Media, type Media, startMedia } from '../../helpers/rtsp/media.ts'
import { until } from '../../helpers/until.ts'

const raw = 'videotestsrc is-live=true pattern=white ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 !'
const MEDIA: Readonly<Record<string, string>> = {
  H264: `${raw} x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 ! video/x-h264,profile=baseline ! rtph264pay name=pay0 config-interval=-1`,
  'H264 with parameter sets in the caps alone': `${raw} x264enc tune=zerolatency speed-preset=ultrafast key-int-max=30 ! video/x-h264,profile=baseline ! h264parse ! video/x-h264,stream-format=avc ! rtph264pay name=pay0 config-interval=0`,
  H265: `${raw} x265enc tune=zerolatency speed-preset=ultrafast key-int-max=30 ! rtph265pay name=pay0 config-interval=-1`,
  VP8: `${raw} vp8enc deadline=1 keyframe-max-dist=30 ! rtpvp8pay name=pay0`,
  JPEG: `${raw.replace('format=I420', 'format=I420,colorimetry=bt709')} videoconvert ! video/x-raw,format=I420,colorimetry=1:4:0:0 ! jpegenc ! rtpjpegpay name=pay0`,
  'MP4V-ES (decoded by decodebin)': `${raw} avenc_mpeg4 gop-size=30 ! rtpmp4vpay name=pay0 config-interval=1`,
}

let media: Media | undefined
afterEach(async () => {
  await media?.stop()
  media = undefined
})

/** A stream with a GOP of at least this many units. */
const streamOf = async (branch: string, units: number): Promise<RtpStream> => {
  media = startMedia([branch])
  const [stream] = media.streams
  if (stream === undefined) throw new Error('no stream')
  await expect.poll(() => stream.gop?.units.length ?? 0).toBeGreaterThanOrEqual(units)
  return stream
}

const packetsOf = (gdp: Buffer): readonly Buffer[] => {
  const packets: Buffer[] = []
  new GdpReader(65_535, { onBuffer: ({ payload }) => packets.push(payload) }).push(gdp)
  return packets
}

/** Mean of the red channel, as a viewer shows it. */
const red = (jpeg: Buffer): number => {
  const bytes = execFileSync('ffmpeg', ['-v', 'error', '-f', 'mjpeg', '-i', '-', '-vf', 'scale=1:1,format=rgb24', '-f', 'rawvideo', '-'], {
    input: jpeg,
  })
  return bytes[0] ?? 0
}

describe('a screenshot of a stream', () => {
  it.each(Object.keys(MEDIA))('is decoded from %s, from the key frame and from the whole GOP, in the colors of a JPEG', async (name) => {
    const stream = await streamOf(MEDIA[name] ?? '', name === 'JPEG' ? 1 : 2)
    const { gop, caps } = stream
    if (gop === undefined || caps === undefined) throw new Error('no GOP')
    for (const keyFrameOnly of [true, false]) {
      const single = keyFrameOnly || gop.units.length === 1
      const units = keyFrameOnly ? gop.units.slice(0, 1) : gop.units
      const { jpeg, width, height } = await decodeToJpeg({ caps, units, single, quality: 90, width: null })
      expect({ width, height, end: jpeg.length }).toEqual({ width: 320, height: 240, end: readJpeg(jpeg)?.end })
      // White is 255, not the 235 of video range.
      expect(red(jpeg)).toBeGreaterThan(250)
    }
  })

  it.each([
    [
      'begins with no IDR, of an encoder with open GOPs',
      'bframes=3 b-pyramid=true b-adapt=false key-int-max=15 option-string=open-gop=1:scenecut=0',
    ],
    ['is refreshed gradually', 'intra-refresh=true tune=zerolatency key-int-max=30'],
  ])(
    'shows a whole picture of a GOP that %s',
    async (_, encoder) => {
      const stream = await streamOf(
        `${raw} x264enc ${encoder} speed-preset=veryfast ! video/x-h264,profile=high ! h264parse ! rtph264pay name=pay0 config-interval=-1`,
        1,
      )
      const decoder = new ScreenshotDecoder(stream, { slots: createDecodeSlots({ running: 1, waiting: 10 }), memory: new KeptMemory() })
      // The first GOP of an encoder begins with an IDR.
      for (let after = 0, pictures = 0; pictures < 4; pictures++) {
        const { units } = (await until(
          () => stream.gop,
          (gop) => gop !== undefined && (gop.units[0]?.index ?? 0) > after,
        )) ?? { units: [] }
        after = units[0]?.index ?? 0
        expect(red((await decoder.decode({ quality: 90, width: null })).jpeg)).toBeGreaterThan(250)
      }
    },
    30_000,
  )

  it.each([2, 45])('shows the newest frame of a GOP of %d', async (pictures) => {
    const frames = execFileSync('ffmpeg', [
      ...'-v error -f lavfi -i'.split(' '),
      "color=c=black:s=320x240:r=30,geq=lum='if(mod(floor((N+100)/pow(2,floor(X/20))),2),235,16)':cb=128:cr=128",
      ...`-frames:v ${pictures} -c:v libx264 -preset veryfast -bf 2 -g 60 -pix_fmt yuv420p -f h264 -`.split(' '),
    ])
    const rtp = execFileSync(
      'gst-launch-1.0',
      '-q fdsrc fd=0 ! h264parse ! rtph264pay config-interval=-1 ! gdppay ! fdsink fd=1'.split(' '),
      { input: frames },
    )
    const caps: RtpCaps = { media: 'video', encodingName: 'H264', payload: 96, clockRate: 90000, parameters: new Map() }
    const job = { caps, units: [{ packets: () => packetsOf(rtp) }], quality: 85, width: null }
    expect(frameShownIn((await decodeToJpeg({ ...job, single: false })).jpeg)).toBe(99 + pictures)
    const narrow = await decodeToJpeg({ ...job, single: false, width: 160 })
    expect([narrow.width, narrow.height, frameShownIn(narrow.jpeg)]).toEqual([160, 120, 99 + pictures])
  })

  it('is smaller with lower quality and width, and never wider than the stream', async () => {
    const stream = await streamOf(h264Media(), 3)
    const decoder = new ScreenshotDecoder(stream, { slots: createDecodeSlots({ running: 1, waiting: 10 }), memory: new KeptMemory() })
    const [low, high, narrow, wide] = [
      await decoder.decode({ quality: 10, width: null }),
      await decoder.decode({ quality: 95, width: null }),
      await decoder.decode({ quality: 95, width: 64 }),
      await decoder.decode({ quality: 95, width: 4000 }),
    ]
    expect(high.jpeg.length).toBeGreaterThan(1.2 * low.jpeg.length)
    expect([narrow.width, narrow.height]).toEqual([64, 48])
    expect([wide.width, wide.height]).toEqual([320, 240])
  })

  it('has the arrival time of its frame', async () => {
    const stream = await streamOf(h264Media(300), 20)
    const decoder = new ScreenshotDecoder(stream, { slots: createDecodeSlots({ running: 1, waiting: 10 }), memory: new KeptMemory() })
    const { gop } = stream
    const before = gop?.newestArrivedMs ?? 0
    expect((await decoder.decode({ quality: 50, width: null })).frameMs).toBeGreaterThanOrEqual(before)
    if (gop === undefined) throw new Error('no GOP')
    expect((await decoder.decode({ quality: 50, width: null, keyFrameOf: gop })).frameMs).toBe(gop.keyArrivedMs)
  })
})

describe('a decoder', () => {
  const caps: RtpCaps = { media: 'video', encodingName: 'H264', payload: 96, clockRate: 90000, parameters: new Map() }

  it('is killed when it hangs', async () => {
    const stream = await streamOf(h264Media(300), 10)
    const job = { caps: stream.caps ?? caps, units: stream.gop?.units ?? [], single: false, quality: 85, width: null }
    const decoders = () => childrenOf(process.pid).filter(({ command }) => command.includes('jpegenc'))
    const decoded = decodeToJpeg({ ...job, timeoutMs: 2000 }).catch((error: unknown) => error)
    // A stopped decoder is as silent as a hanging one; SIGKILL ends it all the same.
    const [decoder] = await until(decoders, (found) => found.length > 0)
    process.kill(pidOf(decoder), 'SIGSTOP')
    expect(await decoded).toMatchObject({ code: 'ENGINE_ERROR', details: { reason: 'decoder_hung' } })
    expect(decoders()).toEqual([])
  })

  it('is killed when it stays after the error of an element, as gst-launch-1.0 1.22 does when that comes before its main loop runs', async () => {
    const script = 'printf "ERROR: from " >&2; sleep 0.1; echo "element /GstPipeline:pipeline0/avdec_h264" >&2; exec sleep 60'
    expect(await runToEnd('sh', ['-c', script], { timeoutMs: 30_000, reach: {} })).toMatchObject({ signal: 'SIGKILL', timedOut: false })
  })

  it('reports an error for invalid or empty input', async () => {
    const job = { caps, single: false, quality: 85, width: null }
    for (const packets of [[], [Buffer.from('nonsense')], Array.from({ length: 100 }, () => Buffer.alloc(1000, 0x47))]) {
      await expect(decodeToJpeg({ ...job, units: [{ packets: () => packets }] })).rejects.toMatchObject({
        code: 'ENGINE_ERROR',
        details: { reason: 'decoder_failed' },
      })
    }
  })

  it('gets only safe caps fields', () => {
    const parameters = new Map([
      ['sprop-parameter-sets', 'Z0LAH4w=,aM4PyA=='],
      ['evil', '" ! filesink location=/tmp/x "'],
      ['timestamp-offset', '5'],
      ['na me', 'x'],
    ])
    const { command, start } = toDecoder({ caps: { ...caps, parameters }, single: true, generic: false, quality: 50, width: null })
    expect(start.includes('Z0LAH4w=,aM4PyA==')).toBe(true)
    for (const unsafe of ['filesink', 'timestamp-offset', 'na me'])
      expect([...command, start.toString('latin1')].join(' ')).not.toContain(unsafe)
  })
})

describe('the decode slots', () => {
  it('run a limited number of jobs at once, in order, and reject when too many wait', async () => {
    const slots = createDecodeSlots({ running: 2, waiting: 3 })
    const begun: number[] = []
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
    const jobs = gates.map(({ promise }, at) =>
      slots.run(async () => {
        begun.push(at)
        await promise
      }),
    )
    await expect(slots.run(async () => 'never')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'busy' } })
    expect(begun).toEqual([0, 1])
    gates[1]?.reject(new Error('failed'))
    await expect(jobs[1]).rejects.toThrow('failed')
    expect(begun).toEqual([0, 1, 2])
    for (const gate of gates) gate.resolve()
    await Promise.allSettled(jobs)
    expect(begun).toEqual([0, 1, 2, 3, 4])
    expect(await slots.run(async () => 'free again')).toBe('free again')
  })
})
