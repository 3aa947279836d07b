/**
 * From PLAY to the first byte of a key frame, joins at random phases of a 2 s GOP; and how far the newest picture that
 * came is behind the clock 300 ms later. rtsp-join [JOINS] [tcp|udp]
 */

import { keyFrameDetector } from '../../engine/rtp/key-frame.ts'
import { quantile, sleep, sourceLine, startServer, startSource } from '../helpers/bench/measure.ts'
import { freePort } from '../helpers/rtsp/media.ts'
import { connectReader } from '../helpers/rtsp/reader.ts'

const [joins = '30', transport = 'tcp'] = process.argv.slice(2)
const feed = await freePort()
const server = await startServer('publisher', await freePort(), sourceLine(feed))
const source = await startSource(feed)
const startsKeyFrame = keyFrameDetector('H264')
await sleep(3000)
const waits: number[] = []
const played: number[] = []
for (let join = 0; join < Number(joins); join += 1) {
  await sleep(Math.random() * 400)
  let keyMs = 0
  const reader = await connectReader(server.url, {
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
  await sleep(300)
  // A player shows the first frame when it comes and keeps that pace: what it is behind is the media time that it still has to show.
  const [first, last] = [reader.packets[0], reader.packets.at(-1)]
  if (first && last) played.push(((last.timestamp - first.timestamp) | 0) / 90 - (last.arrivedMs - first.arrivedMs))
  await reader.close()
}
await server.stop()
await source.stop()
console.log(
  JSON.stringify({
    transport,
    joins: waits.length,
    join_ms: { median: quantile(waits, 0.5).toFixed(1), p95: quantile(waits, 0.95).toFixed(1), max: Math.max(...waits).toFixed(1) },
    lag_after_join_ms: { median: quantile(played, 0.5).toFixed(1), max: Math.max(...played).toFixed(1) },
  }),
)
process.exit()
