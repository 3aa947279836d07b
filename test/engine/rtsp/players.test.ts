import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RtpStream } from '../../../engine/rtp/stream.ts'
import { createPublisher, type Publication, type Publisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { freePort } from '../../helpers/ports.ts'
import { rounds } from '../../helpers/random.ts'
import { inOrder, readIndependently } from '../../helpers/rtsp/independent-client.ts'
import { h264Media, type Media, silentLog, startMedia } from '../../helpers/rtsp/media.ts'
import { Random } from '../../helpers/rtsp/random-bytes.ts'
import { openReader, sequenceGaps, timestampSteps } from '../../helpers/rtsp/reader.ts'

const run = promisify(execFile)
const H265 =
  'videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! x265enc tune=zerolatency speed-preset=ultrafast key-int-max=30 ! rtph265pay name=pay0 pt=96 config-interval=-1'
/** A second stream beside the video: sparse like KLV, with its own random offsets. */
const SPARSE = 'videotestsrc is-live=true ! video/x-raw,format=I420,width=16,height=16,framerate=5/1 ! jpegenc ! rtpjpegpay name=pay1 pt=97'

let publisher: Publisher
let mount: Publication
let media: Media
let h265: Media
let both: Media
let base: string

beforeAll(async () => {
  publisher = createPublisher({ log: silentLog, limits: { reportMs: 300 } })
  media = startMedia([h264Media(60)])
  h265 = startMedia([H265])
  both = startMedia([h264Media(30), SPARSE])
  const port = await freePort()
  const publish = (path: string, streams: Media['streams']) =>
    publisher.mount({ host: '127.0.0.1', port, path }, { streams, maxReaders: () => 100, describeTimeoutMs: () => 10_000 })
  mount = await publish('h264', media.streams)
  await publish('h265', h265.streams)
  await publish('both', both.streams)
  base = `rtsp://127.0.0.1:${port}`
})

afterAll(async () => {
  await publisher.close()
  await Promise.all([media.stop(), h265.stop(), both.stop()])
})

/** Frames decoded by ffmpeg and its errors, without muxer warnings about the close timestamps of the cached GOP. */
const decode = async (url: string, transport: string, frames: number) => {
  const args = ['-nostdin', '-hide_banner', '-v', 'error', '-stats', '-rtsp_transport', transport, '-i', url]
  const { stderr } = await run(
    'ffmpeg',
    [...args, '-map', '0:v:0', '-frames:v', String(frames), '-fps_mode', 'passthrough', '-f', 'null', '-'],
    {
      timeout: 25_000,
    },
  )
  const decoded = Number(/frame=\s*(\d+)(?!.*frame=)/s.exec(stderr)?.[1])
  const complaints = stderr.split(/[\r\n]+/).filter((line) => line !== '' && !/frame=|non monotonically|Last message repeated/.test(line))
  return { decoded, complaints }
}

/** Resolves when the caps of a stream are known: until then the description leaves the stream out. */
const capsOf = (stream: RtpStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.caps !== undefined) resolve()
    else stream.onCaps(() => resolve())
  })

describe('players', () => {
  it.concurrent.for([
    ['h264', 'tcp'],
    ['h264', 'udp'],
    ['h265', 'tcp'],
    ['h265', 'udp'],
  ] as const)('ffmpeg decodes %s over %s without an error', async ([path, transport], { expect }) => {
    expect(await decode(`${base}/${path}`, transport, 90)).toEqual({ decoded: 90, complaints: [] })
  })

  it.concurrent.for(['tcp', 'udp', 'tcp+udp+udp-mcast'])('GStreamer plays with protocols=%s', async (protocols, { expect }) => {
    const line = `-q rtspsrc location=${base}/h264 protocols=${protocols} latency=50 ! rtph264depay ! avdec_h264 ! identity eos-after=60 ! fakesink`
    await expect(run('gst-launch-1.0', line.split(' '), { timeout: 20_000 })).resolves.toBeDefined()
  })

  it('of an independent implementation play', async () => {
    const { format, sequences } = await readIndependently(`${base}/h264`, 100)
    expect(format).toBe('H264')
    expect(sequences.length).toBeGreaterThanOrEqual(100)
    expect(sequences).toSatisfy(inOrder)
  })

  it('that are killed leave no session and no connection behind', async () => {
    const settled = async (count: number) => {
      const end = performance.now() + 10_000
      while ((mount.readers !== count || publisher.connections !== count) && performance.now() < end)
        await new Promise((resolve) => setTimeout(resolve, 5))
      return [mount.readers, publisher.connections]
    }
    // The players of the previous tests have ended; their connections may still be open.
    expect(await settled(0)).toEqual([0, 0])
    const killed = new AbortController()
    const args = ['-nostdin', '-v', 'quiet', '-rtsp_transport', 'udp', '-i', `${base}/h264`, '-f', 'null', '-']
    const player = run('ffmpeg', args, { signal: killed.signal, killSignal: 'SIGKILL' }).catch(() => 'killed')
    expect(await settled(1)).toEqual([1, 1])
    killed.abort()
    expect([await player, await settled(0)]).toEqual(['killed', [0, 0]])
  })
})

describe('two streams in one session', () => {
  it('are synchronized over TCP and UDP by sender reports of one clock', async () => {
    await Promise.all(both.streams.map(capsOf))
    for (const transport of ['tcp', 'udp'] as const) {
      const reader = await openReader(`${base}/both`, { transport })
      await reader.until(() => [0, 1].every((track) => reader.packets.filter((packet) => packet.track === track).length > 10))
      await reader.until(() => [0, 1].every((track) => reader.reports.some((report) => report.track === track)))
      expect([sequenceGaps(reader.packets, 0), sequenceGaps(reader.packets, 1)], transport).toEqual([[], []])
      // A report maps RTP time to NTP time: the least ages of packets of both streams must agree; a busy host delays others.
      const ages = [0, 1].map((track) => {
        const report = reader.reports.findLast((entry) => entry.track === track)?.data
        expect(report?.[1]).toBe(200)
        const ntpMs = report ? report.readUInt32BE(8) * 1000 + (report.readUInt32BE(12) * 1000) / 2 ** 32 : 0
        const wallMs = (timestamp: number) => ntpMs + ((timestamp - (report?.readUInt32BE(16) ?? 0)) | 0) / 90
        const newest = reader.packets.filter((packet) => packet.track === track).slice(-10)
        return Math.max(...newest.map(({ timestamp, arrivedMs }) => wallMs(timestamp) - arrivedMs))
      })
      expect(Math.abs((ages[0] ?? 0) - (ages[1] ?? 0)), transport).toBeLessThan(150)
      await reader.close()
    }
  })
})

describe('readers that come and go', () => {
  it('never disturb other readers', async () => {
    const random = new Random(7)
    const steady = [await openReader(`${base}/h264`), await openReader(`${base}/h264`, { transport: 'udp' })]
    const visit = async () => {
      for (let visits = 0; visits < rounds(4); visits += 1) {
        const reader = await openReader(`${base}/h264`, { transport: random.next() < 0.7 ? 'tcp' : 'udp' })
        // Some leave during the cached GOP, some after live media.
        const enough = 1 + random.integer(250)
        await reader.until(() => reader.count >= enough)
        const leave = random.next()
        if (leave < 0.4) await reader.teardown()
        else await reader.close()
        expect(sequenceGaps(reader.packets)).toEqual([])
      }
    }
    await Promise.all(Array.from({ length: 20 }, visit))
    for (const reader of steady) {
      expect(sequenceGaps(reader.packets)).toEqual([])
      expect(Math.min(...timestampSteps(reader.packets))).toBeGreaterThan(0)
      await reader.close()
    }
  })
})

describe('a child that is replaced', () => {
  it('leaves its readers one SSRC, no gap in sequence numbers and increasing timestamps', async () => {
    const replaced = startMedia([h264Media(30)])
    const port = await freePort()
    const restarting = await publisher.mount(
      { host: '127.0.0.1', port, path: 'x' },
      { streams: replaced.streams, maxReaders: () => 9, describeTimeoutMs: () => 10_000 },
    )
    const url = `rtsp://127.0.0.1:${port}/x`
    const readers = [await openReader(url), await openReader(url, { transport: 'udp' })]
    const player = decode(url, 'tcp', 120)
    for (let restart = 0; restart < 2; restart += 1) {
      const counts = readers.map((reader) => reader.count)
      await Promise.all(readers.map((reader, at) => reader.until(() => reader.count > (counts[at] ?? 0) + 60)))
      await replaced.restart(200)
    }
    const counts = readers.map((reader) => reader.count)
    await Promise.all(readers.map((reader, at) => reader.until(() => reader.count > (counts[at] ?? 0) + 60)))
    expect(await player).toEqual({ decoded: 120, complaints: [] })
    for (const reader of readers) {
      expect(sequenceGaps(reader.packets)).toEqual([])
      expect(new Set(reader.packets.map((packet) => packet.ssrc)).size).toBe(1)
      const steps = timestampSteps(reader.packets)
      expect(Math.min(...steps)).toBeGreaterThan(0)
      // The two pauses appear as steps; a start under load may shorten them, not below three pictures.
      expect(steps.filter((step) => step > 100 * 90)).toHaveLength(2)
      await reader.close()
    }
    await restarting.close()
    await replaced.stop()
  })
})
