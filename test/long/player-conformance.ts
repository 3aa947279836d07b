/**
 * A third-party RTSP source passed through and re-encoded, read by every player at hand: sizes, frame rate, decode errors; tells the
 * bitrate. player-conformance [FRAMES]
 */
import assert from 'node:assert/strict'
import { sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { ffmpegDecode, ffprobe, gstDecode } from '../helpers/media/players.ts'
import { openReader } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'

const frames = Number(process.argv[2] ?? 600)
const SECONDS = 20

/** Frames per second and kbit/s of the RTP payload over 20 s, as a reader gets them. */
const rates = async (url: string) => {
  let bytes = 0
  let units = 0
  const reader = await openReader(url, {
    record: false,
    onPacket: ({ data, marker }) => {
      bytes += data.length - 12
      if (marker) units += 1
    },
  })
  await sleep(1000)
  bytes = 0
  units = 0
  const began = performance.now()
  await sleep(SECONDS * 1000)
  const seconds = (performance.now() - began) / 1000
  await reader.close()
  return { fps: Number((units / seconds).toFixed(2)), kbps: Math.round((bytes * 8) / seconds / 1000) }
}

const source = await startRtspSource()
await withService(async (service) => {
  for (const codec of ['h264', 'h265'] as const) {
    for (const encoding of [null, { codec, width: 1280, height: 720, fps: 25, bitrate: 1500 }]) {
      const id = `${codec}-${encoding === null ? 'pass' : 'encode'}`
      const url = await createPipeline(service, { id, source: { uri: source.url(`/${codec}`), latency_ms: 0 }, encoding })
      const [stream] = await ffprobe(url)
      const [tcp, udp] = await Promise.all([ffmpegDecode(url, frames, 'tcp'), ffmpegDecode(url, frames, 'udp')])
      const gst = await Promise.all([['protocols=tcp'], ['protocols=udp'], []].map((properties) => gstDecode(url, 100, codec, properties)))
      const rate = await rates(url)
      await service.request('PUT', `/svc/pipeline/${id}/stop`)
      const size = `${stream?.width}x${stream?.height}`
      console.log(JSON.stringify({ id, size, ...rate, tcp, udp, gst_tcp_udp_default: gst }))
      assert.deepEqual([size, stream?.codec_name], [encoding === null ? '640x360' : '1280x720', codec])
      assert.ok(Math.abs(rate.fps - (encoding?.fps ?? 30)) < 1, `${rate.fps} frames per second`)
      for (const { frames: decoded, errors } of [tcp, udp]) assert.deepEqual([decoded >= frames, errors], [true, []])
      assert.ok(gst.every((decoded) => decoded >= 100))
    }
  }
})
await source.stop()
