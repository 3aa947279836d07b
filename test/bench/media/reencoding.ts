/**
 * CPU time per frame of a stream that is re-encoded to 720p30, the whole service (API, engine, child) beside a bare gst-launch of the
 * same line, in turns. reencoding [ROUNDS] [SECONDS]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpuSeconds, encodedStream, quantile, sleep } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { processes } from '../../helpers/process/processes.ts'

const [rounds = 3, seconds = 20] = process.argv.slice(2).map(Number)
const PORT = 21_305
const FPS = 30
const PIPELINE = {
  id: 'bench',
  mode: 'simple',
  source: { uri: `udp://127.0.0.1:${PORT}` },
  encoding: { codec: 'h264', width: 1280, height: 720, fps: FPS, bitrate: 3000 },
}

const withSource = async <T>(work: () => Promise<T>): Promise<T> => {
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

const perFrame = async (root: number): Promise<number> => {
  await sleep(3000)
  const pids = treeOf(root)
  const sum = () => pids.reduce((total, pid) => total + cpuSeconds(pid), 0)
  const before = sum()
  await sleep(seconds * 1000)
  return (sum() - before) / (seconds * FPS)
}

const results = { service: [] as number[], bare: [] as number[] }
await withService(async (service) => {
  const validated = await service.request('POST', '/svc/pipeline/validate', PIPELINE)
  const line: string = validated.body.launch
  for (let round = 0; round < rounds; round += 1) {
    await withSource(async () => {
      await createPipeline(service, PIPELINE)
      results.service.push(await perFrame(service.pid))
      await service.request('PUT', '/svc/pipeline/bench/stop')
      await service.request('DELETE', '/svc/pipeline/bench')
    })
    await withSource(async () => {
      const bare = spawn('/bin/sh', ['-c', line], { stdio: 'ignore' })
      results.bare.push(await perFrame(bare.pid ?? 0))
      for (const pid of treeOf(bare.pid ?? 0)) process.kill(pid, 'SIGKILL')
      await once(bare, 'exit')
    })
  }
})
const ms = (values: readonly number[]) => [0, 0.5, 1].map((part) => Math.round(quantile(values, part) * 1e5) / 100)
const ratio = quantile(results.service, 0.5) / quantile(results.bare, 0.5)
console.log(JSON.stringify({ cpu_ms_per_frame: { service: ms(results.service), bare: ms(results.bare) }, ratio: Number(ratio.toFixed(3)) }))
