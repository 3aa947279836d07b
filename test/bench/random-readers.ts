/**
 * Readers that join and leave at random, TCP and UDP, beside two that stay and an ffmpeg that decodes: nobody may be disturbed.
 * random-readers [READERS] [SECONDS] [SEED]
 */

import { sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { ffmpegDecode } from '../helpers/media/players.ts'
import { createRandom } from '../helpers/random.ts'
import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'

const count = Number(process.argv[2] ?? 20)
const seconds = Number(process.argv[3] ?? 30)
const random = createRandom(Number(process.argv[4] ?? 1))

const source = await startRtspSource()
const result = await withService(async (service) => {
  const url = await createPipeline(service, { id: 'busy', source: { uri: source.url('/h264'), latency_ms: 0 } })
  const steady = await Promise.all([openReader(url), openReader(url, { transport: 'udp' })])
  const decoding = ffmpegDecode(url, seconds * 30)
  const until = performance.now() + seconds * 1000
  const visits = { made: 0, gaps: 0 }
  const visitor = async (): Promise<void> => {
    while (performance.now() < until) {
      const reader = await openReader(url, { transport: random.pick(['tcp', 'udp'] as const) })
      await sleep(random.integer(2000))
      visits.made += 1
      visits.gaps += sequenceGaps(reader.packets).length
      // Half of them say goodbye, half of them are gone.
      await (random.chance(0.5) ? reader.teardown() : reader.close())
      await sleep(random.integer(500))
    }
  }
  await Promise.all(Array.from({ length: count }, visitor))
  const decoded = await decoding
  const steadyGaps = steady.map((reader) => sequenceGaps(reader.packets).length)
  const packets = steady.map((reader) => reader.count)
  for (const reader of steady) await reader.close()
  return { visits, steady_packets: packets, steady_gaps: steadyGaps, decoded }
})
await source.stop()
console.log(JSON.stringify(result))
