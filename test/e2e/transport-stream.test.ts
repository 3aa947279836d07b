import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../engine/klv/st0601/synthetic-flight.ts'
import { KlvDemuxer } from '../../engine/mpegts/klv-demuxer.ts'
import { toHex } from '../fixtures/klv/hex.ts'
import { mediaChildren } from '../helpers/api/host-truth.ts'
import { gstKlv } from '../helpers/klv/reader.ts'
import { startTsKlvSender } from '../helpers/klv/ts-sender.ts'
import { send, TS } from '../helpers/media/play-launch.ts'
import { freeUdpPort } from '../helpers/ports.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const run = promisify(execFile)
const PACKET_BYTES = 188

const create = async (service: Service, id: string, more: Record<string, unknown>): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  return body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

/** Reads `stream.ts` until it has enough pictures; answers its bytes, and when the first of them came. */
const read = async (service: Service, id: string, enough: (pictures: number) => boolean) => {
  const abort = new AbortController()
  const began = performance.now()
  const response = await fetch(`${service.url}/svc/pipeline/${id}/stream.ts`, { signal: abort.signal })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'video/mp2t'])
  const chunks: Uint8Array[] = []
  let firstMs: number | undefined
  let [counted, rest] = [0, Buffer.alloc(0)]
  for await (const chunk of response.body ?? []) {
    firstMs ??= performance.now() - began
    chunks.push(chunk)
    const sofar = Buffer.concat([rest, chunk])
    counted += pictures(wholePackets(sofar))
    rest = sofar.subarray(wholePackets(sofar).length)
    if (enough(counted)) break
  }
  abort.abort()
  return { bytes: wholePackets(Buffer.concat(chunks)), firstMs: firstMs ?? Number.NaN }
}

const wholePackets = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length - (bytes.length % PACKET_BYTES))

const packetsOf = (bytes: Buffer): readonly Buffer[] =>
  Array.from({ length: bytes.length / PACKET_BYTES }, (_, at) => bytes.subarray(at * PACKET_BYTES, (at + 1) * PACKET_BYTES))

/** Packets whose counter does not follow that of the one before with the same PID (ISO/IEC 13818-1 section 2.4.3.3). */
const counterGaps = (bytes: Buffer): number => {
  const last = new Map<number, number>()
  let gaps = 0
  for (const packet of packetsOf(bytes)) {
    const [pid, counter] = [packet.readUInt16BE(1) & 0x1fff, (packet[3] ?? 0) & 15]
    const before = last.get(pid)
    if (before !== undefined && counter !== ((before + 1) & 15)) gaps += 1
    last.set(pid, counter)
  }
  return gaps
}

/** The number of pictures, by the packets that begin one. */
const pictures = (bytes: Buffer): number => packetsOf(bytes).filter((packet) => (packet.readUInt16BE(1) & 0x5fff) === 0x4100).length

const save = (bytes: Buffer): string => {
  const file = join(temporaryDataDir(), 'stream.ts')
  writeFileSync(file, bytes)
  return file
}

/** What ffprobe finds, and what ffmpeg complains about while it decodes all. */
const examine = async (file: string) => {
  const entries = 'stream=codec_name,nb_read_frames,has_b_frames'
  const probed = await run('ffprobe', ['-v', 'error', '-count_frames', '-show_entries', entries, '-of', 'json', file])
  const streams = (JSON.parse(probed.stdout) as { programs: [{ streams: object[] }] }).programs[0].streams
  const passed = ['-map', '0:v', '-enc_time_base', '1:90000', '-fps_mode', 'passthrough', '-f', 'null', '-']
  const { stderr } = await run('ffmpeg', ['-v', 'warning', '-i', file, ...passed])
  return { streams, complaints: stderr }
}

describe('stream.ts', () => {
  it('has H.264 and, byte for byte, the KLV of the source; ffmpeg and GStreamer play it', async () => {
    const [source, service] = await Promise.all([startRtspSource(), startService()])
    onTestFinished(() => source.stop())
    const url = await create(service, 'drone', { source: { uri: source.url('/klv'), latency_ms: 0 }, klv_config: { pass_klv: true } })
    await create(service, 'mute', { source: { uri: source.url('/klv'), latency_ms: 0 } })
    const [{ bytes, firstMs }, expected] = await Promise.all([read(service, 'drone', (count) => count >= 120), gstKlv(url, 40)])
    expect(firstMs).toBeLessThan(2000)
    const demuxer = new KlvDemuxer()
    const klv = demuxer.push(bytes).map((unit) => toHex(unit.bytes))
    const common = klv.filter((packet) => expected.includes(packet))
    expect(common.length).toBeGreaterThan(20)
    expect(klv.slice(klv.indexOf(common[0] ?? ''), klv.lastIndexOf(common.at(-1) ?? '') + 1)).toEqual(common)
    expect(counterGaps(bytes)).toBe(0)

    const file = save(bytes)
    const { streams, complaints } = await examine(file)
    expect(streams).toEqual([expect.objectContaining({ codec_name: 'h264' }), expect.objectContaining({ codec_name: 'klv' })])
    expect(complaints.split('\n').filter((line) => line !== '' && !line.startsWith('Unsupported codec'))).toEqual([])
    const extracted = join(temporaryDataDir(), 'klv')
    const line = `filesrc location=${file} ! tsdemux name=in in. ! h264parse ! avdec_h264 ! fakesink sync=false async=false in. ! meta/x-klv ! filesink async=false location=${extracted}`
    await run('gst-launch-1.0', ['-q', ...line.split(' ')], { timeout: 20_000 })
    expect(toHex(readFileSync(extracted))).toContain(common.slice(0, 10).join(''))

    const without = await read(service, 'mute', (count) => count >= 30)
    expect((await examine(save(without.bytes))).streams).toEqual([expect.objectContaining({ codec_name: 'h264' })])
    await service.stop()
  })

  it('announces KLV only when the source has it: where only the data tells, and after a replacement', async () => {
    const port = await freeUdpPort()
    onTestFinished(send(`${TS.H264} ! udpsink host=127.0.0.1 port=${port} sync=false`))
    const sender = await startTsKlvSender({ synchronous: false, klv: (index) => flightPacket(index * 100) })
    onTestFinished(() => sender.stop())
    const service = await startService()
    const passed = { klv_config: { pass_klv: true } }
    const streamsOf = async (id: string) => {
      const { bytes } = await read(service, id, (count) => count >= 20)
      return (await examine(save(bytes))).streams
    }
    const [video, klv] = [expect.objectContaining({ codec_name: 'h264' }), expect.objectContaining({ codec_name: 'klv' })]
    await create(service, 'plain', { source: { uri: `udp://127.0.0.1:${port}` }, ...passed })
    expect(await streamsOf('plain')).toEqual([video])
    await create(service, 'drone', { source: { uri: sender.uri }, ...passed })
    expect(await streamsOf('drone')).toEqual([video, klv])
    await service.request('PUT', '/svc/pipeline/drone/stop')
    const ball = { id: 'drone', mode: 'simple', source: { uri: 'test://ball?width=320&height=240&fps=10' }, ...passed }
    expect((await service.request('PUT', '/svc/pipeline/drone', ball)).status).toBe(200)
    expect((await service.request('PUT', '/svc/pipeline/drone/play')).status).toBe(200)
    expect(await streamsOf('drone')).toEqual([video])
    await service.stop()
  })

  it('keeps its counters over a killed child and for a client that loses GOPs, and begins at a key frame', async () => {
    const [source, service] = await Promise.all([
      startRtspSource(['--gop-seconds', '0.5', '--width', '320', '--height', '180']),
      startService(),
    ])
    onTestFinished(() => source.stop())
    await create(service, 'cam', { source: { uri: source.url('/h264'), latency_ms: 0 }, encoding: { codec: 'h265', quality: 1 } })
    let before = 0
    const { bytes } = await read(service, 'cam', (count) => {
      if (before === 0 && count > 30) {
        before = count
        for (const pid of mediaChildren(service.enginePid())) process.kill(pid, 'SIGKILL')
      }
      return before > 0 && count > before + 60
    })
    expect(counterGaps(bytes)).toBe(0)
    const starts = packetsOf(bytes).findIndex((packet) => (packet.readUInt16BE(1) & 0x5fff) === 0x4100)
    // random_access_indicator of the first picture; before it the tables.
    expect((packetsOf(bytes)[starts]?.[5] ?? 0) & 0x40).toBe(0x40)
    expect(
      packetsOf(bytes)
        .slice(0, starts)
        .map((packet) => packet.readUInt16BE(1) & 0x1fff),
    ).toEqual([0, 0x1000])
    const { streams, complaints } = await examine(save(bytes))
    expect(streams).toEqual([{ codec_name: 'hevc', has_b_frames: 0, nb_read_frames: String(pictures(bytes)) }])
    expect(complaints).toBe('')
    await service.stop()
  })

  it('has the times of decoding of a stream with B-frames', async () => {
    const service = await startService()
    const encoder = 'x264enc bframes=2 b-adapt=false b-pyramid=false speed-preset=veryfast key-int-max=30 ! video/x-h264,profile=main'
    await create(service, 'reordered', {
      mode: 'advanced',
      raw_pipeline: `videotestsrc is-live=true ! video/x-raw,width=320,height=240,framerate=30/1 ! ${encoder} ! rtph264pay name=pay0 config-interval=-1`,
    })
    const { bytes } = await read(service, 'reordered', (count) => count >= 60)
    const file = save(bytes)
    const { stdout } = await run('ffprobe', ['-v', 'error', '-show_entries', 'packet=pts,dts', '-of', 'csv=p=0', file])
    const times = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(',').map(Number))
    const decoded = times.map(([, dts = Number.NaN]) => dts)
    expect(decoded).toEqual(decoded.toSorted((one, other) => one - other))
    expect(times.every(([pts = 0, dts = 0]) => dts <= pts)).toBe(true)
    expect(times.some(([pts, dts]) => dts !== pts)).toBe(true)
    expect((await examine(file)).complaints).toBe('')
    await service.stop()
  })

  it('has such times wherever a client joins a stream with open GOPs', async () => {
    const service = await startService()
    const encoder = 'x265enc speed-preset=ultrafast key-int-max=15 option-string=open-gop=1:bframes=4:b-adapt=0:scenecut=0'
    await create(service, 'open', {
      mode: 'advanced',
      raw_pipeline: `videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240,framerate=30/1 ! ${encoder} ! rtph265pay name=pay0 config-interval=-1`,
    })
    const check = async (bytes: Buffer): Promise<void> => {
      const args = ['-v', 'error', '-select_streams', 'v', '-show_entries', 'packet=dts', '-of', 'csv=p=0', save(bytes)]
      const decoded = [...(await run('ffprobe', args)).stdout.matchAll(/^\d+/gm)].map(Number)
      expect(decoded.length).toBeGreaterThan(15)
      expect(decoded).toEqual([...new Set(decoded)].toSorted((one, other) => one - other))
    }
    // Alone, each is the first client of its format; later beside another one, whose times go on.
    for (let join = 0; join < 4; join++) await check((await read(service, 'open', (count) => count >= 20)).bytes)
    let joined = 0
    const beside = read(service, 'open', () => joined === 4)
    for (; joined < 4; joined++) await check((await read(service, 'open', (count) => count >= 20)).bytes)
    await check((await beside).bytes)
    await service.stop()
  }, 60_000)

  it('serves many clients, which count as readers, and ends when the pipeline is stopped', async () => {
    const service = await startService()
    await create(service, 'ball', { source: { uri: 'test://ball?width=320&height=240&fps=30' } })
    const abort = new AbortController()
    const open = async () => (await fetch(`${service.url}/svc/pipeline/ball/stream.ts`, { signal: abort.signal })).body?.getReader()
    const clients = await Promise.all(Array.from({ length: 10 }, open))
    await until(
      async () => (await service.request('GET', '/svc/pipeline/ball')).body.runtime.readers,
      (readers) => readers === 10,
    )
    expect(mediaChildren(service.enginePid())).toHaveLength(1)
    await service.request('PUT', '/svc/pipeline/ball/stop')
    for (const client of clients) {
      let ended = false
      while (!ended) ended = (await client?.read())?.done ?? true
      expect(ended).toBe(true)
    }
    await service.stop()
  })
})
