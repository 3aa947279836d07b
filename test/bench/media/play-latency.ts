/**
 * From play to the first RTP packet, passthrough of a local RTSP source, beside bare gst-launch of the same line in turns.
 * play-latency [ROUNDS]. Ours: the play request until the packet is at a reader that waits in DESCRIBE.
 */
import { spawn } from 'node:child_process'
import { quantile } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { connectReader } from '../../helpers/rtsp/reader.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'

const rounds = Number(process.argv[2] ?? 15)
const source = await startRtspSource()
const keep = await connectReader(source.url('/h264'))

/** The line as the service shows it: what a user would paste. */
const bareLaunch = (args: readonly string[]): Promise<number> =>
  new Promise((resolve) => {
    const began = performance.now()
    const child = spawn('gst-launch-1.0', [...args], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
    child.stdio[3]?.once('data', () => {
      resolve(performance.now() - began)
      child.kill('SIGKILL')
    })
  })

const times = await withService(async (service) => {
  const config = { id: 'quick', mode: 'simple', on_demand: true, source: { uri: source.url('/h264'), latency_ms: 0 } }
  const { body } = await service.request('POST', '/svc/pipeline/validate', config)
  const line = (body.launch as string)
    .replace(/ \d>\/dev\/null/g, '')
    .replaceAll("'", '')
    .split(' ')
    .slice(1)
  const output = await createPipeline(service, config)
  const ours: number[] = []
  const bare: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const reader = await connectReader(output, { record: false })
    const began = performance.now()
    const play = service.request('PUT', '/svc/pipeline/quick/play')
    await reader.describe()
    await reader.setUp(0)
    await reader.play()
    await reader.until(() => reader.count > 0)
    ours.push(performance.now() - began)
    await play
    await reader.close()
    await service.request('PUT', '/svc/pipeline/quick/stop')
    bare.push(await bareLaunch(line))
  }
  return { ours, bare, line }
})
await keep.close()
await source.stop()
const median = (values: readonly number[]): number => Number(quantile(values, 0.5).toFixed(1))
console.log(times.line.join(' '))
console.log(
  JSON.stringify({
    rounds,
    ours_ms: median(times.ours),
    bare_gst_launch_ms: median(times.bare),
    ours_p95_ms: Number(quantile(times.ours, 0.95).toFixed(1)),
  }),
)
