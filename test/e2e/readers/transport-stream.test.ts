import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../../fixtures/klv/hex.ts'
import { mediaChildren } from '../../helpers/api/host-truth.ts'
import { gstKlv } from '../../helpers/klv/reader.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { send, TS } from '../../helpers/media/play-launch.ts'
import {
  beginsPicture,
  counterGaps,
  countPictures,
  klvOf,
  overlap,
  packetsOf,
  pidOfPacket,
  wholePackets,
} from '../../helpers/media/transport-stream.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { BALL, command, createPipeline, openSource, untilReaders } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const run = promisify(execFile)
const service = shareService()

/** Reads `stream.ts` until it has enough pictures; answers its bytes, and when the first of them came. */
const read = async (id: string, enough: (pictures: number) => boolean, query = '') => {
  const abort = new AbortController()
  const began = performance.now()
  const response = await fetch(`${service.url}/svc/pipeline/${id}/stream.ts${query}`, { signal: abort.signal })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'video/mp2t'])
  const chunks: Uint8Array[] = []
  let firstMs: number | undefined
  let [counted, rest] = [0, Buffer.alloc(0)]
  for await (const chunk of response.body ?? []) {
    firstMs ??= performance.now() - began
    chunks.push(chunk)
    const unread = Buffer.concat([rest, chunk])
    counted += countPictures(unread)
    rest = unread.subarray(wholePackets(unread).length)
    if (enough(counted)) break
  }
  abort.abort()
  return { bytes: wholePackets(Buffer.concat(chunks)), firstMs: firstMs ?? Number.NaN }
}

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

const [VIDEO, KLV] = [expect.objectContaining({ codec_name: 'h264' }), expect.objectContaining({ codec_name: 'klv' })]
const PASSED = { klv_config: { pass_klv: true } }

describe('stream.ts', () => {
  it('has H.264 and, byte for byte, the KLV of the source; ffmpeg and GStreamer play it', async () => {
    const source = await openSource()
    const uav = { source: { uri: source.url('/klv'), latency_ms: 0 } }
    const url = await createPipeline(service, 'drone', { ...uav, ...PASSED })
    await createPipeline(service, 'mute', uav)
    const [{ bytes, firstMs }, expected] = await Promise.all([read('drone', (count) => count >= 120), gstKlv(url, 40)])
    expect(firstMs).toBeLessThan(2000)
    const { common, between } = overlap(klvOf(bytes), expected)
    expect(common.length).toBeGreaterThan(20)
    expect(between).toEqual(common)
    expect(counterGaps(bytes)).toBe(0)

    const file = save(bytes)
    const { streams, complaints } = await examine(file)
    expect(streams).toEqual([VIDEO, KLV])
    expect(complaints.split('\n').filter((line) => line !== '' && !line.startsWith('Unsupported codec'))).toEqual([])
    const extracted = join(temporaryDataDir(), 'klv')
    const line = `filesrc location=${file} ! tsdemux name=in in. ! h264parse ! avdec_h264 ! fakesink sync=false async=false in. ! meta/x-klv ! filesink async=false location=${extracted}`
    await run('gst-launch-1.0', ['-q', ...line.split(' ')], { timeout: 20_000 })
    expect(toHex(readFileSync(extracted))).toContain(common.slice(0, 10).join(''))

    const without = await read('mute', (count) => count >= 30)
    expect((await examine(save(without.bytes))).streams).toEqual([VIDEO])
  })

  it('announces KLV only when the source has it: where only the data tells, and after a replacement', async () => {
    const port = await freeUdpPort()
    onTestFinished(send(`${TS.H264} ! udpsink host=127.0.0.1 port=${port} sync=false`))
    const sender = await startTsKlvSender({ synchronous: false, klv: (index) => flightPacket(index * 100) })
    onTestFinished(() => sender.stop())
    const streamsOf = async (id: string) => (await examine(save((await read(id, (count) => count >= 20)).bytes))).streams
    await createPipeline(service, 'plain', { source: { uri: `udp://127.0.0.1:${port}` }, ...PASSED })
    await createPipeline(service, 'drone', { source: { uri: sender.uri }, ...PASSED })
    expect(await Promise.all([streamsOf('plain'), streamsOf('drone')])).toEqual([[VIDEO], [VIDEO, KLV]])
    await command(service, 'drone', 'stop')
    const ball = { id: 'drone', mode: 'simple', source: BALL, ...PASSED }
    expect((await service.request('PUT', '/svc/pipeline/drone', ball)).status).toBe(200)
    expect((await command(service, 'drone', 'play')).status).toBe(200)
    expect(await streamsOf('drone')).toEqual([VIDEO])
  })

  it('keeps its counters over a killed child and for a client that loses GOPs, and begins at a key frame', async () => {
    const source = await openSource('--gop-seconds', '0.5', '--width', '320', '--height', '180')
    const encoding = { codec: 'h265', quality: 1 }
    await createPipeline(service, 'cam', { source: { uri: source.url('/h264'), latency_ms: 0 }, encoding })
    let before = 0
    const { bytes } = await read('cam', (count) => {
      if (before === 0 && count > 30) {
        before = count
        for (const pid of mediaChildren(service.enginePid())) process.kill(pid, 'SIGKILL')
      }
      return before > 0 && count > before + 60
    })
    expect(counterGaps(bytes)).toBe(0)
    const packets = packetsOf(bytes)
    const starts = packets.findIndex(beginsPicture)
    // random_access_indicator of the first picture; before it the tables.
    expect((packets[starts]?.[5] ?? 0) & 0x40).toBe(0x40)
    expect(packets.slice(0, starts).map(pidOfPacket)).toEqual([0, 0x1000])
    const { streams, complaints } = await examine(save(bytes))
    expect(streams).toEqual([{ codec_name: 'hevc', has_b_frames: 0, nb_read_frames: String(countPictures(bytes)) }])
    expect(complaints).toBe('')
  })

  it('begins with start=key at the next key frame, and has the times of the source from the first picture on', async () => {
    await createPipeline(service, 'recorded', { source: BALL, encoding: { codec: 'h264', fps: 25 } })
    const file = save((await read('recorded', (count) => count >= 80, '?start=key')).bytes)
    const args = ['-v', 'warning', '-select_streams', 'v', '-show_entries', 'frame=pts_time,key_frame', '-of', 'json', file]
    const { stdout, stderr } = await run('ffprobe', args)
    const { frames } = JSON.parse(stdout) as { frames: { pts_time: string; key_frame: number }[] }
    expect([stderr, frames[0]?.key_frame]).toEqual(['', 1])
    const gaps = frames.slice(1).map(({ pts_time }, at) => Number(pts_time) - Number(frames[at]?.pts_time))
    // 40 ms each; drawn together, those of the cached GOP would be some milliseconds apart.
    expect(gaps.filter((gap) => gap < 0.02 || gap > 0.2)).toEqual([])
  })

  it('has the times of decoding of a stream with B-frames, wherever a client joins, also in open GOPs', async () => {
    const pictures = 'videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240,framerate=30/1'
    const lines = {
      closed:
        'x264enc bframes=2 b-adapt=false b-pyramid=false speed-preset=veryfast key-int-max=30 ! video/x-h264,profile=main ! rtph264pay',
      open: 'x265enc speed-preset=ultrafast key-int-max=15 option-string=open-gop=1:bframes=4:b-adapt=0:scenecut=0 ! rtph265pay',
    }
    const check = async (id: string, enough: (count: number) => boolean): Promise<string> => {
      const file = save((await read(id, enough)).bytes)
      const args = ['-v', 'error', '-select_streams', 'v', '-show_entries', 'packet=pts,dts', '-of', 'json', file]
      const { packets } = JSON.parse((await run('ffprobe', args)).stdout) as { packets: { pts?: number; dts?: number }[] }
      const decoded = packets.map(({ dts = Number.NaN }) => dts)
      expect(decoded.length).toBeGreaterThan(15)
      expect(decoded).toEqual([...new Set(decoded)].toSorted((one, other) => one - other))
      expect(packets.filter(({ pts = 0, dts = 0 }) => dts > pts)).toEqual([])
      expect(packets.some(({ pts, dts }) => dts !== pts)).toBe(true)
      return file
    }
    for (const [id, line] of Object.entries(lines)) {
      await createPipeline(service, id, { raw_pipeline: `${pictures} ! ${line} name=pay0 config-interval=-1` })
      // Alone, each is the first client of its format; later beside another one, whose times go on.
      for (let join = 0; join < 2; join++) await check(id, (count) => count >= 20)
      let joined = 0
      const beside = check(id, () => joined === 3)
      for (; joined < 3; joined++) await check(id, (count) => count >= 20)
      const file = await beside
      if (id === 'closed') expect((await examine(file)).complaints).toBe('')
    }
  }, 60_000)

  it('serves many clients, which count as readers, and ends when the pipeline is stopped', async () => {
    await createPipeline(service, 'ball')
    const open = async () => (await fetch(`${service.url}/svc/pipeline/ball/stream.ts`)).body?.getReader()
    const clients = await Promise.all(Array.from({ length: 10 }, open))
    await untilReaders(service, 'ball', 10)
    expect(mediaChildren(service.enginePid())).toHaveLength(1)
    await command(service, 'ball', 'stop')
    for (const client of clients) while ((await client?.read())?.done === false);
  })
})
