import { freePort } from '../../helpers/ports.ts'
/**
 * From PLAY to the first byte of a key frame, and from connecting to it, joins at random phases of a 2 s GOP; and how far the
 * newest picture that came is behind the clock 300 ms later. rtsp-join [JOINS] [tcp|udp] [open|password|tls]
 */

import { keyFrameDetector } from '../../../engine/codec/key-frame.ts'
import { quantile, sleep, sourceLine, startServer, startSource } from '../../helpers/bench/measure.ts'
import { makeCertificate } from '../../helpers/rtsp/certificate.ts'
import { digest } from '../../helpers/rtsp/credentials.ts'

import { connectReader } from '../../helpers/rtsp/reader.ts'

const [joins = '30', transport = 'tcp', access = 'open'] = process.argv.slice(2)
const password = 'correct horse'
if (access === 'password') process.env.BENCH_PASSWORD = password
const certificate = access === 'tls' ? makeCertificate() : undefined
if (certificate) Object.assign(process.env, { BENCH_CERT: certificate.cert, BENCH_KEY: certificate.key })
const feed = await freePort()
const server = await startServer('publisher', await freePort(), sourceLine(feed))
const source = await startSource(feed)
const startsKeyFrame = keyFrameDetector('H264')
await sleep(3000)
const waits: number[] = []
const totals: number[] = []
const played: number[] = []
for (let join = 0; join < Number(joins); join += 1) {
  await sleep(Math.random() * 400)
  let keyMs = 0
  const begun = performance.now()
  const reader = await connectReader(certificate ? server.url.replace('rtsp:', 'rtsps:') : server.url, {
    ...(access === 'password' && { authorize: digest({ password }) }),
    transport: transport === 'udp' ? 'udp' : 'tcp',
    onPacket: ({ data, arrivedMs }) => {
      if (keyMs === 0 && startsKeyFrame(data, 12, data.length)) keyMs = arrivedMs
    },
  })
  await reader.describe()
  await reader.setUp(0)
  const before = performance.now()
  await reader.play()
  await reader.until(() => keyMs > 0)
  waits.push(keyMs - before)
  totals.push(keyMs - begun)
  await sleep(300)
  // A player shows the first frame when it comes and keeps that pace: what it is behind is the media time that it still has to show.
  const [first, last] = [reader.packets[0], reader.packets.at(-1)]
  if (first && last) played.push(((last.timestamp - first.timestamp) | 0) / 90 - (last.arrivedMs - first.arrivedMs))
  await reader.close()
}
await server.stop()
await source.stop()
certificate?.remove()
console.log(
  JSON.stringify({
    transport,
    access,
    joins: waits.length,
    join_ms: { median: quantile(waits, 0.5).toFixed(1), p95: quantile(waits, 0.95).toFixed(1), max: Math.max(...waits).toFixed(1) },
    connect_to_key_frame_ms: { median: quantile(totals, 0.5).toFixed(1), p95: quantile(totals, 0.95).toFixed(1) },
    lag_after_join_ms: { median: quantile(played, 0.5).toFixed(1), max: Math.max(...played).toFixed(1) },
  }),
)
process.exit()
