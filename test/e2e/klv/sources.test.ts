import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../../lib/st0601/synthetic-flight.ts'
import { toHex } from '../../fixtures/klv/hex.ts'
import { followSse } from '../../helpers/api/sse-client.ts'
import { ffmpegKlv, gstKlv } from '../../helpers/klv/reader.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { send, TS } from '../../helpers/media/play-launch.ts'
import { ffmpegDecode, ffprobe } from '../../helpers/media/players.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { replaceText, startRtspRewriter } from '../../helpers/rtsp/rewriter.ts'
import { type RtspSource, startRtspSource } from '../../helpers/rtsp/source.ts'
import { command, createPipeline, portOf, untilView } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const service = shareService()
let source: RtspSource

beforeAll(async () => {
  source = await startRtspSource()
})
afterAll(async () => {
  await source.stop()
})

const PASSED = { klv_config: { pass_klv: true } }

const create = (id: string, uri: string, more: object = {}): Promise<string> =>
  createPipeline(service, id, { source: { uri, latency_ms: 50 }, ...more })

const startSender = async (synchronous: boolean, klv: (index: number) => Uint8Array | undefined = (index) => flightPacket(index * 100)) => {
  const sender = await startTsKlvSender({ synchronous, klv })
  let stopped = false
  const stop = async (): Promise<void> => {
    if (!stopped) await sender.stop()
    stopped = true
  }
  onTestFinished(stop)
  return { ...sender, stop }
}

/** The next packets that are decoded. */
const decoded = async (id: string, count: number) => {
  expect(await command(service, id, 'klv/start')).toMatchObject({ status: 200, body: { klv: { state: 'playing' } } })
  const client = followSse(await fetch(`${service.url}/svc/pipeline/${id}/klv/events`))
  const packets: { readonly values: Record<string, number | string> }[] = []
  while (packets.length < count) packets.push((await client.nextOf('klv')).data)
  // Keeps reading until the service ends the stream.
  void client.rest()
  return packets
}

const latitudeSteps = (packets: Awaited<ReturnType<typeof decoded>>): number[] =>
  packets.slice(1).map(({ values }, at) => Math.round((Number(values.sensor_latitude) - Number(packets[at]?.values.sensor_latitude)) * 1e4))

/** `part` occurs in `whole`, without a gap. */
const expectPartOf = (part: readonly string[], whole: readonly string[]): void => {
  const at = whole.indexOf(part[0] ?? '')
  expect(at).toBeGreaterThanOrEqual(0)
  expect(part).toEqual(whole.slice(at, at + part.length))
}

describe('KLV sources', () => {
  it('include an RTSP track with any spelling of its encoding name, and MPEG-TS inside RTSP while the video is re-encoded', async () => {
    const spelled = ['smpte336m', 'Smpte336M', 'smtpe336m'].map(async (name) => {
      const rewriter = await startRtspRewriter(source.port, replaceText('SMPTE336M', name))
      onTestFinished(() => rewriter.close())
      await create(name, `rtsp://127.0.0.1:${rewriter.port}/klv`)
      expect(latitudeSteps(await decoded(name, 5))).toEqual([1, 1, 1, 1])
    })
    const inside = async () => {
      await create('inside', source.url('/mp2t'), { encoding: { codec: 'h264', width: 320, height: 180, quality: 1 } })
      await untilView(service, 'inside', ({ klv }) => klv.available)
      expect(latitudeSteps(await decoded('inside', 10))).toEqual(new Array(9).fill(1))
    }
    await Promise.all([...spelled, inside()])
  })

  it('include a synchronous track of MPEG-TS over UDP and SRT, decoded and passed through', async () => {
    const [udp, relayed, port] = [await startSender(true), await startSender(true), await freeUdpPort()]
    const relay = `udpsrc port=${portOf(relayed.uri)} ! srtsink uri=srt://127.0.0.1:${port}?mode=listener wait-for-connection=false`
    onTestFinished(send(relay))
    const check = async (id: string, uri: string, { sent }: typeof udp): Promise<void> => {
      const url = await create(id, uri, PASSED)
      const read = await gstKlv(url, 10)
      expectPartOf(
        read,
        sent.map(({ klv }) => toHex(klv)),
      )
      const packets = await decoded(id, 5)
      expect(packets.map(({ values }) => values.mission_id)).toEqual(new Array(5).fill('SYNTHETIC'))
    }
    await Promise.all([check('udp', udp.uri, udp), check('srt', `srt://127.0.0.1:${port}`, relayed)])
  })

  it('include KLV no longer when a later play finds none, and video goes on', async () => {
    const sender = await startSender(false)
    await create('drone', sender.uri, PASSED)
    await untilView(service, 'drone', ({ klv }) => klv.available)
    await command(service, 'drone', 'stop')
    await sender.stop()
    onTestFinished(send(`${TS.H264} ! udpsink host=127.0.0.1 port=${portOf(sender.uri)}`))
    expect((await command(service, 'drone', 'play')).status).toBe(200)
    expect((await untilView(service, 'drone', ({ klv }) => !klv.available)).state).toBe('playing')
  })

  it('include a synthetic flight with the test source', async () => {
    const url = await create('flight', 'test://ball?width=320&height=240&fps=25&klv=1', PASSED)
    const packets = await decoded('flight', 12)
    const times = packets.map(({ values }) => Number(values.precision_time_stamp) / 1000)
    expect(Math.abs((times[11] ?? 0) - (times[0] ?? 0) - 1100)).toBeLessThan(1000)
    expect(packets.every(({ values }) => Math.abs(Number(values.sensor_latitude) + 27.6) < 0.02)).toBe(true)
    expect(await gstKlv(url, 10)).toHaveLength(10)
  })
})

describe('KLV passed through', () => {
  it('is unchanged over TCP and UDP while it is decoded, for GStreamer and ffmpeg', async () => {
    const url = await create('passed', source.url('/klv'), PASSED)
    await command(service, 'passed', 'klv/start')
    const direct = gstKlv(source.url('/klv'), 60)
    expect((await ffmpegDecode(url, 20)).frames).toBe(20)
    const [tcp, udp, ffmpeg] = await Promise.all([gstKlv(url, 15), gstKlv(url, 15, 'udp'), ffmpegKlv(url, 2)])
    const whole = await direct
    for (const part of [tcp, udp, ffmpeg]) expectPartOf(part, whole)
    expect([tcp.length, udp.length]).toEqual([15, 15])
    expect(ffmpeg.length).toBeGreaterThan(10)
  })

  it('is a track of the output only with pass_klv', async () => {
    const [without, both] = [await create('video-only', source.url('/klv')), await create('both', source.url('/klv'), PASSED)]
    const streams = await Promise.all([ffprobe(without), ffprobe(both)])
    expect(streams.map((found) => found.map(({ codec_type }) => codec_type))).toEqual([['video'], ['video', 'data']])
  })

  it('does not delay the video when it is silent', async () => {
    const sender = await startSender(true, () => undefined)
    const url = await create('silent', sender.uri, PASSED)
    expect((await ffmpegDecode(url, 20)).frames).toBe(20)
    expect(await command(service, 'silent', 'klv/start')).toMatchObject({
      status: 200,
      body: { klv: { available: true, state: 'playing' } },
    })
    expect((await service.request('GET', '/svc/pipeline/silent/klv')).status).toBe(404)
  })
})
