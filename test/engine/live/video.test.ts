import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { parseH264Sps } from '../../../engine/codec/h264-sps.ts'
import { MediaFormats } from '../../../engine/formats/media-formats.ts'
import { LiveAdmission } from '../../../engine/live/admission.ts'
import { LiveVideo } from '../../../engine/live/live-video.ts'
import { ServedSound } from '../../../engine/mount/served-sound.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import { createPublisher, type Publication, type Publisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { openVideo, RecordReader, type VideoClient, type VideoRecord } from '../../helpers/live/records.ts'
import { configure } from '../../helpers/media/play-launch.ts'
import { freePort } from '../../helpers/ports.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { silentLog, startMedia } from '../../helpers/rtsp/media.ts'
import { openReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'

let publisher: Publisher
afterEach(() => publisher.close())

/** A pipeline's live video behind an HTTP server, fed by gst-launch-1.0. */
const serve = async (description: string, maxReaders = 10) => {
  const media = startMedia([description])
  onTestFinished(() => media.stop())
  publisher = createPublisher({ log: silentLog })
  const port = await freePort()
  const mount: Publication = await publisher.mount(
    { host: '127.0.0.1', port, path: 'cam' },
    { streams: media.streams, maxReaders: () => maxReaders, describeTimeoutMs: () => 10_000 },
  )
  const config = { ...configure('test://ball', null), output: { uri: `rtsp://127.0.0.1:${port}/cam` } }
  const parts = {
    config: () => config,
    media: new MediaFormats({
      video: media.streams[0] as RtpStream,
      klv: () => undefined,
      klvCarriage: () => false,
      klvOfSource: new RtpStream(),
      sound: new ServedSound(new RtpStream(), () => {}),
      soundStream: () => undefined,
    }),
    point: () => mount.point,
  }
  const live = new LiveVideo({ ...parts, admission: new LiveAdmission(parts) })
  const server = createServer((_request, response) => {
    const abort = new AbortController()
    response.on('close', () => abort.abort())
    live.open({ format: 'records', sound: false, klv: false }, abort.signal).then(
      (source) => source(response.writeHead(200)),
      (error: { status: number; details: object }) => response.writeHead(error.status).end(JSON.stringify(error.details)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const open = async (): Promise<VideoClient> => {
    const client = await openVideo(url)
    onTestFinished(() => client.close())
    return client
  }
  return { media, mount, url, rtsp: `rtsp://127.0.0.1:${port}/cam`, open }
}

const encoded = (encoder: string, rest: string, size = '320,height=240'): string =>
  `videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=${size},framerate=30/1 ! ${encoder} ! ${rest}`

const H264 = encoded('x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15', 'rtph264pay name=pay0 pt=96 config-interval=-1')
// Parameter sets only in the caps, as an advanced pipeline may have it.
const H264_BARE = encoded('x264enc tune=zerolatency speed-preset=ultrafast key-int-max=15', 'rtph264pay name=pay0 pt=96')
const H264_B_FRAMES = encoded(
  'x264enc bframes=2 b-adapt=false b-pyramid=false speed-preset=veryfast key-int-max=30 ! video/x-h264,profile=main',
  'rtph264pay name=pay0 pt=96',
)
// Its later key frames are CRA pictures.
const H265 = encoded('x265enc tune=zerolatency speed-preset=ultrafast key-int-max=15', 'rtph265pay name=pay0 pt=96')

const pictures = (records: readonly VideoRecord[]) => records.filter(({ kind }) => kind === 2 || kind === 3)
const events = (records: readonly VideoRecord[]) =>
  records.filter(({ kind }) => kind === 4).map(({ payload }) => JSON.parse(payload.toString()).type)
const configs = (records: readonly VideoRecord[]) =>
  records.filter(({ kind }) => kind === 1).map(({ payload }) => JSON.parse(payload.toString()))

const nalUnits = ({ payload }: VideoRecord): readonly Buffer[] =>
  payload
    .toString('latin1')
    .split('\0\0\0\x01')
    .slice(1)
    .map((text) => Buffer.from(text, 'latin1'))

/** The types of the NAL units of an access unit. */
const nalTypes = (record: VideoRecord, typeOf: (header: number) => number): readonly number[] =>
  nalUnits(record).map((nal) => typeOf(nal[0] ?? 0))
const h264Type = (header: number): number => header & 0x1f
const h265Type = (header: number): number => (header >> 1) & 0x3f

/** Frames that ffmpeg decodes of an elementary stream, and its complaints. */
const decode = (records: readonly VideoRecord[], format: 'h264' | 'hevc') => {
  const file = join(temporaryDataDir(), `stream.${format}`)
  writeFileSync(file, Buffer.concat(pictures(records).map(({ payload }) => payload)))
  const counted = ['-v', 'error', '-count_frames', '-show_entries', 'stream=nb_read_frames', '-of', 'csv=p=0', '-f', format, file]
  const complaints = execFileSync('ffmpeg', ['-v', 'error', '-f', format, '-i', file, '-f', 'null', '-'], { encoding: 'utf8' })
  return { frames: Number(execFileSync('ffprobe', counted, { encoding: 'utf8' })), complaints }
}

describe('live video', () => {
  it.each([
    ['H.264', H264, 'h264', /^avc1\.[0-9A-F]{6}$/, [7, 8], h264Type, 5],
    ['H.264 without parameter sets in the stream', H264_BARE, 'h264', /^avc1\./, [7, 8], h264Type, 5],
    ['H.265 with CRA pictures', H265, 'hevc', /^hev1\.\d+\.[0-9A-F]+\.[LH]\d+(?:\.[0-9A-F]{1,2})*$/, [32, 33, 34], h265Type, 21],
  ] as const)(
    'begins with the decoder configuration and the cached GOP: %s',
    async (_what, description, format, codec, sets, typeOf, key) => {
      const { media, open } = await serve(description)
      // A client that comes before the first key picture is told that the source is away.
      await expect.poll(() => media.streams[0]?.live).toBe(true)
      const first = await open()
      await first.until((records) => pictures(records).length >= 40)
      const second = await open()
      await second.until((records) => pictures(records).length >= 40)
      for (const { records } of [first, second]) {
        expect(records[0]?.kind).toBe(1)
        expect(configs(records)).toEqual([{ codec: expect.stringMatching(codec), codedWidth: 320, codedHeight: 240 }])
        expect(records[1]?.kind).toBe(2)
        const keys = records.filter(({ kind }) => kind === 2)
        expect(keys.length).toBeGreaterThan(1)
        for (const record of keys) expect(nalTypes(record, typeOf)).toEqual(expect.arrayContaining([...sets]))
        expect(nalTypes(keys.at(-1) as VideoRecord, typeOf)).toContain(key)
        const times = pictures(records).map(({ time }) => time)
        expect(times).toEqual(times.toSorted((one, other) => one - other))
      }
      // Each picture has the same time and the same bytes for both.
      const known = new Map(pictures(first.records).map((record) => [record.time, record.payload]))
      const shared = pictures(second.records).filter(({ time }) => known.has(time))
      expect(shared.length).toBeGreaterThan(0)
      for (const { time, payload } of shared) expect(payload.equals(known.get(time) ?? Buffer.alloc(0))).toBe(true)
      expect(decode(second.records, format)).toEqual({ frames: pictures(second.records).length, complaints: '' })
    },
  )

  it('tells that the source is lost and back, and goes on with a key picture at a later time', async () => {
    const { media, open } = await serve(H264)
    const client = await open()
    await client.until((records) => pictures(records).length >= 20)
    await media.restart(300)
    await client.until(
      (records) => events(records).length === 2 && pictures(records.slice(records.findLastIndex(({ kind }) => kind === 4))).length >= 20,
    )
    const { records } = client
    expect(events(records)).toEqual(['source_lost', 'source_back'])
    const back = records.findLastIndex(({ kind }) => kind === 4)
    expect(records[back + 1]?.kind).toBe(2)
    expect(configs(records)).toHaveLength(1)
    const times = records.map(({ time }) => time)
    expect(times).toEqual(times.toSorted((one, other) => one - other))
    expect(decode(records, 'h264')).toEqual({ frames: pictures(records).length, complaints: '' })
  })

  it('begins for a client that comes while the source is away with what is known, and that it is lost', async () => {
    const { media, open } = await serve(H264_BARE)
    const early = await open()
    await early.until((records) => pictures(records).length > 0)
    const restarted = media.restart(1500)
    await early.until((records) => events(records).length === 1)
    const late = await open()
    await late.until((records) => pictures(records).length > 0)
    await restarted
    expect(late.records.slice(0, 4).map(({ kind }) => kind)).toEqual([1, 4, 4, 2])
    expect(events(late.records)).toEqual(['source_lost', 'source_back'])
  })

  it('tells decoders of a stream without B-frames to show each picture at once, and leaves one with B-frames as it is', async () => {
    const spsOf = async (description: string) => {
      const { open } = await serve(description)
      const client = await open()
      await client.until((records) => records.filter(({ kind }) => kind === 2).length >= 3, 30_000)
      await publisher.close()
      const keys = client.records.filter(({ kind }) => kind === 2)
      const sets = keys.map((record) =>
        nalUnits(record)
          .map(parseH264Sps)
          .find((sps) => sps !== undefined),
      )
      return { sets, times: pictures(client.records).map(({ time }) => time) }
    }
    const plain = await spsOf(H264)
    expect(plain.sets.map((sps) => sps?.reorderFrames)).toEqual(plain.sets.map(() => 0))
    const reordered = await spsOf(H264_B_FRAMES)
    expect(reordered.sets.map((sps) => sps?.reorderFrames)).toEqual(reordered.sets.map(() => 1))
    expect(reordered.times).not.toEqual(reordered.times.toSorted((one, other) => one - other))
  })

  it('drops whole GOPs of a client that does not read, and delays nobody', async () => {
    const noise = encoded(
      'x264enc tune=zerolatency speed-preset=ultrafast key-int-max=10 bitrate=30000 qp-max=20',
      'rtph264pay name=pay0 pt=96 config-interval=-1',
      '1280,height=720',
    ).replace('pattern=ball', 'pattern=snow')
    const { mount, url, rtsp, open } = await serve(noise)
    const stalled = (await fetch(url)).body?.getReader()
    const records = new RecordReader()
    const seen: VideoRecord[] = []
    const readOn = async (): Promise<void> => void seen.push(...records.push((await stalled?.read())?.value ?? new Uint8Array(0)))
    await readOn()
    const good = await open()
    const reader = await openReader(rtsp, { record: true })
    onTestFinished(() => reader.close())
    await good.until(() => mount.stats.gopDrops >= 1, 25_000)
    expect(mount.readers).toBe(3)
    const times = pictures(good.records).map(({ time }) => time)
    // A gap of more than two frames would mean that pictures were lost.
    expect(Math.max(...times.slice(1).map((time, at) => time - (times[at] ?? 0)))).toBeLessThan(90_000)
    expect(sequenceGaps(reader.packets)).toEqual([])
    const until = performance.now() + 10_000
    const lost = (): boolean =>
      pictures(seen).some(({ kind, time }, at, all) => kind === 2 && at > 0 && time - (all[at - 1]?.time ?? 0) > 90_000)
    while (performance.now() < until && !lost()) await readOn()
    // What is missing ends at a key picture.
    expect(lost()).toBe(true)
    await stalled?.cancel()
  })

  it('counts clients as readers, and refuses one too many', async () => {
    const { mount, open } = await serve(H264, 2)
    const [first] = [await open(), await open()]
    expect(mount.readers).toBe(2)
    const third = await open()
    expect([third.status, third.refusal]).toEqual([503, { reason: 'reader_limit' }])
    await first?.close()
    await expect.poll(() => mount.readers).toBe(1)
    mount.disconnectReaders()
    await expect.poll(() => mount.readers).toBe(0)
  })
})
