import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { flightPacket } from '../../engine/klv/st0601/synthetic-flight.ts'
import { toHex } from '../fixtures/klv/hex.ts'
import { followSse } from '../helpers/api/sse-client.ts'
import { ffmpegKlv, gstKlv } from '../helpers/klv/reader.ts'
import { startTsKlvSender } from '../helpers/klv/ts-sender.ts'
import { send } from '../helpers/media/play-launch.ts'
import { ffmpegDecode, ffprobe } from '../helpers/media/players.ts'
import { freeUdpPort } from '../helpers/ports.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { replaceText, startRtspRewriter } from '../helpers/rtsp/rewriter.ts'
import { type RtspSource, startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

let source: RtspSource

beforeAll(async () => {
  source = await startRtspSource()
})
afterAll(async () => {
  await source.stop()
})

const PASSED = { klv_config: { pass_klv: true } }

/** Creates a pipeline and answers where it can be read. */
const create = async (service: Service, id: string, uri: string, more: Record<string, unknown> = {}): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, mode: 'simple', source: { uri, latency_ms: 50 }, ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  return body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

/** The next packets that are decoded. */
const decoded = async (service: Service, id: string, count: number) => {
  expect(await service.request('PUT', `/svc/pipeline/${id}/klv/start`)).toMatchObject({ status: 200, body: { klv: { state: 'playing' } } })
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
  it('include an RTSP track with any spelling of its encoding name', async () => {
    const service = await startService()
    for (const name of ['smpte336m', 'Smpte336M', 'smtpe336m']) {
      const rewriter = await startRtspRewriter(source.port, replaceText('SMPTE336M', name))
      onTestFinished(() => rewriter.close())
      await create(service, name, `rtsp://127.0.0.1:${rewriter.port}/klv`)
      expect(latitudeSteps(await decoded(service, name, 5))).toEqual([1, 1, 1, 1])
    }
    await service.stop()
  })

  it('include MPEG-TS inside RTSP, also while the video is re-encoded', async () => {
    const service = await startService()
    await create(service, 'inside', source.url('/mp2t'), { encoding: { codec: 'h264', width: 320, height: 180, quality: 1 } })
    await until(
      () => service.request('GET', '/svc/pipeline/inside'),
      ({ body }) => body.klv.available,
    )
    expect(latitudeSteps(await decoded(service, 'inside', 10))).toEqual(new Array(9).fill(1))
    await service.stop()
  })

  it('include a synchronous track of MPEG-TS over UDP, decoded and passed through', async () => {
    const service = await startService()
    const sender = await startTsKlvSender({ synchronous: true, klv: (index) => flightPacket(index * 100) })
    onTestFinished(() => sender.stop())
    const url = await create(service, 'drone', sender.uri, PASSED)
    expectPartOf(
      await gstKlv(url, 10),
      sender.sent.map(({ klv }) => toHex(klv)),
    )
    const packets = await decoded(service, 'drone', 5)
    expect(packets.map(({ values }) => values.mission_id)).toEqual(new Array(5).fill('SYNTHETIC'))
    await service.stop()
  })

  it('include KLV no longer when a later play finds none, and video goes on', async () => {
    const service = await startService()
    const sender = await startTsKlvSender({ synchronous: false, klv: (index) => flightPacket(index * 100) })
    await create(service, 'drone', sender.uri, PASSED)
    await until(
      () => service.request('GET', '/svc/pipeline/drone'),
      ({ body }) => body.klv.available,
    )
    await service.request('PUT', '/svc/pipeline/drone/stop')
    await sender.stop()
    const port = new URL(sender.uri.replace('udp:', 'http:')).port
    const caps = 'video/x-raw,format=I420,width=320,height=180,framerate=10/1'
    const video = `videotestsrc is-live=true ! ${caps} ! x264enc tune=zerolatency key-int-max=10 ! h264parse`
    onTestFinished(send(`${video} ! mpegtsmux alignment=7 ! udpsink host=127.0.0.1 port=${port}`))
    expect((await service.request('PUT', '/svc/pipeline/drone/play')).status).toBe(200)
    const { body } = await until(
      () => service.request('GET', '/svc/pipeline/drone'),
      ({ body }) => !body.klv.available,
    )
    expect(body).toMatchObject({ state: 'playing', klv: { available: false } })
    await service.stop()
  })

  it('include MPEG-TS over SRT', async () => {
    const service = await startService()
    const sender = await startTsKlvSender({ synchronous: true, klv: (index) => flightPacket(index * 100) })
    onTestFinished(() => sender.stop())
    const [udpPort, srtPort] = [new URL(sender.uri.replace('udp:', 'http:')).port, await freeUdpPort()]
    onTestFinished(send(`udpsrc port=${udpPort} ! srtsink uri=srt://127.0.0.1:${srtPort}?mode=listener wait-for-connection=false`))
    const url = await create(service, 'srt', `srt://127.0.0.1:${srtPort}`, PASSED)
    expectPartOf(
      await gstKlv(url, 5),
      sender.sent.map(({ klv }) => toHex(klv)),
    )
    expect(await decoded(service, 'srt', 5)).toHaveLength(5)
    await service.stop()
  })

  it('include a synthetic flight with the test source', async () => {
    const service = await startService()
    const url = await create(service, 'flight', 'test://ball?width=320&height=240&fps=25&klv=1', PASSED)
    const packets = await decoded(service, 'flight', 12)
    const times = packets.map(({ values }) => Number(values.precision_time_stamp) / 1000)
    expect(Math.abs((times[11] ?? 0) - (times[0] ?? 0) - 1100)).toBeLessThan(300)
    expect(packets.every(({ values }) => Math.abs(Number(values.sensor_latitude) + 27.6) < 0.02)).toBe(true)
    expect(await gstKlv(url, 10)).toHaveLength(10)
    await service.stop()
  })
})

describe('KLV passed through', () => {
  it('is unchanged over TCP and UDP, also while it is decoded, for GStreamer and ffmpeg', async () => {
    const service = await startService()
    const url = await create(service, 'passed', source.url('/klv'), PASSED)
    const direct = gstKlv(source.url('/klv'), 60)
    expect((await ffmpegDecode(url, 20)).frames).toBe(20)
    const [tcp, udp, ffmpeg] = await Promise.all([gstKlv(url, 15), gstKlv(url, 15, 'udp'), ffmpegKlv(url, 2)])
    await service.request('PUT', '/svc/pipeline/passed/klv/start')
    const decoding = await gstKlv(url, 10)
    const whole = await direct
    for (const part of [tcp, udp, ffmpeg, decoding]) expectPartOf(part, whole)
    expect([tcp.length, udp.length, decoding.length]).toEqual([15, 15, 10])
    expect(ffmpeg.length).toBeGreaterThan(10)
    await service.stop()
  })

  it('is a track of the output only with pass_klv', async () => {
    const service = await startService()
    expect(await ffprobe(await create(service, 'video-only', source.url('/klv')))).toMatchObject([{ codec_type: 'video' }])
    const both = await create(service, 'both', source.url('/klv'), PASSED)
    expect((await ffprobe(both)).map(({ codec_type }) => codec_type)).toEqual(['video', 'data'])
    await service.stop()
  })

  it('does not delay the video when it is silent', async () => {
    const service = await startService()
    const sender = await startTsKlvSender({ synchronous: true, klv: () => undefined })
    onTestFinished(() => sender.stop())
    const url = await create(service, 'silent', sender.uri, PASSED)
    expect((await ffmpegDecode(url, 20)).frames).toBe(20)
    expect(await service.request('PUT', '/svc/pipeline/silent/klv/start')).toMatchObject({
      status: 200,
      body: { klv: { available: true, state: 'playing' } },
    })
    expect((await service.request('GET', '/svc/pipeline/silent/klv')).status).toBe(404)
    await service.stop()
  })
})
