/**
 * CPU time per frame of a stream that is re-encoded to 720p30, the whole service (API, engine, child) beside a bare gst-launch of the
 * same line, in turns. reencoding [ROUNDS] [SECONDS] [udp|rtsp]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type GdpBuffer, GdpReader } from '../../../engine/gst/gdp.ts'
import { hasMarker } from '../../../engine/rtp/packet/packet.ts'
import { cpuSeconds, encodedStream, quantile, sleep, startRtspFeed } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { processes } from '../../helpers/process/processes.ts'

const [rounds = 3, seconds = 20] = process.argv.slice(2).map(Number)
const isRtsp = process.argv[4] === 'rtsp'
const PORT = 21_305
const FPS = 30
/** V8 compiles the code of the engine meanwhile. */
const WARM_UP_MS = 20_000
const PIPELINE = {
  id: 'bench',
  mode: 'simple',
  source: { uri: isRtsp ? `rtsp://127.0.0.1:${PORT}/bench` : `udp://127.0.0.1:${PORT}`, latency_ms: 0 },
  encoding: { codec: 'h264', width: 1280, height: 720, fps: FPS, bitrate: 3000 },
}

const withSource = async <T>(work: () => Promise<T>): Promise<T> => {
  if (isRtsp) {
    const feed = await startRtspFeed(PORT)
    return work().finally(feed.stop)
  }
  const args = [
    '-v',
    'error',
    '-re',
    '-stream_loop',
    '-1',
    '-i',
    encodedStream(),
    '-c',
    'copy',
    '-f',
    'mpegts',
    `udp://127.0.0.1:${PORT}?pkt_size=1316`,
  ]
  const source = spawn('ffmpeg', args, { stdio: 'ignore' })
  try {
    return await work()
  } finally {
    source.kill('SIGKILL')
    await once(source, 'exit')
  }
}

/** A process and all that it started. */
const treeOf = (root: number): readonly number[] => {
  const all = processes()
  const below = (pid: number): readonly number[] => [
    pid,
    ...all.filter(({ parent }) => parent === pid).flatMap((child) => below(child.pid)),
  ]
  return below(root)
}

/** On a busy host frames are dropped, so those that come out count. */
const perFrame = async (root: number, frames: () => number | Promise<number>): Promise<number> => {
  await sleep(WARM_UP_MS)
  const pids = treeOf(root)
  const sum = () => pids.reduce((total, pid) => total + cpuSeconds(pid), 0)
  const before = [sum(), await frames()] as const
  await sleep(seconds * 1000)
  return (sum() - before[0]) / ((await frames()) - before[1])
}

const results = { service: [] as number[], bare: [] as number[] }
await withService(async (service) => {
  const validated = await service.request('POST', '/svc/pipeline/validate', PIPELINE)
  const line: string = validated.body.launch
  for (let round = 0; round < rounds; round += 1) {
    await withSource(async () => {
      await createPipeline(service, PIPELINE)
      results.service.push(
        await perFrame(service.pid, async () => (await service.request('GET', '/svc/pipeline/bench')).body.runtime.frames),
      )
      await service.request('PUT', '/svc/pipeline/bench/stop')
      await service.request('DELETE', '/svc/pipeline/bench')
    })
    await withSource(async () => {
      const bare = spawn('/bin/sh', ['-c', line.replaceAll(/ \d>\/dev\/null/g, '')], {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'ignore'],
      })
      let frames = 0
      const onBuffer = ({ payload: packet }: GdpBuffer): void => {
        if (hasMarker(packet)) frames += 1
      }
      const framing = new GdpReader(65_535, { onBuffer })
      bare.stdio[3]?.on('data', (chunk: Buffer) => void framing.push(chunk))
      results.bare.push(await perFrame(bare.pid ?? 0, () => frames))
      for (const pid of treeOf(bare.pid ?? 0)) process.kill(pid, 'SIGKILL')
      await once(bare, 'exit')
    })
  }
})
const ms = (values: readonly number[]) => [0, 0.5, 1].map((part) => Math.round(quantile(values, part) * 1e5) / 100)
const ratio = quantile(results.service, 0.5) / quantile(results.bare, 0.5)
console.log(JSON.stringify({ cpu_ms_per_frame: { service: ms(results.service), bare: ms(results.bare) }, ratio: Number(ratio.toFixed(3)) }))
