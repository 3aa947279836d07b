/**
 * CPU time and memory of recordings of 4 Mbit/s: of the engine that reads the sources and records them, of one that only reads them, and of
 * as many `ffmpeg -c copy -f segment`, which is what people use without a server. All read one RTSP server over TCP, a mount each, in turns.
 * recording-cost [RECORDINGS = 20] [SECONDS = 20] [ROUNDS = 1] [WAYS = engine,recorded,ffmpeg]
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fourMegabits } from '../../helpers/bench/four-megabits.ts'
import { cpuSeconds, quantile, sleep, startServer } from '../../helpers/bench/measure.ts'
import { withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'
import { until } from '../../helpers/until.ts'

const [count = '20', seconds = '20', rounds = '1', ways = 'engine,recorded,ffmpeg'] = process.argv.slice(2)
const COUNT = Number(count)
const IDS = Array.from({ length: COUNT }, (_, at) => `camera-${at}`)
/** What V8 compiles first, and the first segments. */
const WARM_UP_MS = 12_000

interface Cost {
  /** Part of a core. */
  readonly cpu: number
  readonly megabytes: number
}

/** Megabytes; what several processes share counts in part for each. */
const pss = (pid: number): number => Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1000

const sum = (pids: readonly number[], of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0)

const costOf = async (pids: readonly number[]): Promise<Cost> => {
  await sleep(WARM_UP_MS)
  const [before, began] = [sum(pids, cpuSeconds), performance.now()]
  await sleep(Number(seconds) * 1000)
  const cpu = (sum(pids, cpuSeconds) - before) / ((performance.now() - began) / 1000)
  return { cpu, megabytes: sum(pids, pss) }
}

const withEngine = (url: string, isRecorded: boolean): Promise<Cost> =>
  withService(async (service) => {
    await Promise.all(
      IDS.map((id, at) =>
        service.request('POST', '/svc/pipeline?start=background', { id, source: { uri: `${url}-${at}`, latency_ms: 0 }, audio: 'off' }),
      ),
    )
    const states = async (): Promise<readonly string[]> => {
      const { body } = await service.request('GET', '/svc/pipeline')
      return body.map(({ runtime, recording }: Record<string, { phase: string; state: string }>) =>
        isRecorded ? recording?.state : runtime?.phase,
      )
    }
    if (isRecorded) await Promise.all(IDS.map((id) => service.request('PUT', `/svc/pipeline/${id}/recording/start`)))
    const wanted = isRecorded ? 'recording' : 'playing'
    await until(states, (all) => all.length === COUNT && all.every((state) => state === wanted), 30_000)
    return costOf([service.enginePid()])
  })

const withFfmpeg = async (url: string): Promise<Cost> => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-segments-'))
  const children = IDS.map((id, at) => {
    mkdirSync(join(folder, id))
    const input = ['-v', 'error', '-nostdin', '-rtsp_transport', 'tcp', '-i', `${url}-${at}`]
    const output = ['-c', 'copy', '-f', 'segment', '-segment_time', '4', '-segment_format', 'mpegts', '-strftime', '1']
    return spawn('ffmpeg', [...input, ...output, join(folder, id, '%Y%m%dT%H%M%S.ts')], { stdio: ['ignore', 'ignore', 'inherit'] })
  })
  try {
    return await costOf(children.map(({ pid = 0 }) => pid))
  } finally {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
}

const WAYS = {
  engine: (url: string) => withEngine(url, false),
  recorded: (url: string) => withEngine(url, true),
  ffmpeg: withFfmpeg,
} as const satisfies Record<string, (url: string) => Promise<Cost>>

const file = fourMegabits()
const costs = new Map<string, Cost[]>()
for (let round = 0; round < Number(rounds); round += 1) {
  for (const way of ways.split(',') as (keyof typeof WAYS)[]) {
    const feed = await startServer(
      'gst-rtsp-server',
      await freePort(),
      `filesrc location=${file} ! tsdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1 mtu=1400`,
      COUNT,
    )
    const cost = await WAYS[way](feed.url)
    costs.set(way, [...(costs.get(way) ?? []), cost])
    await feed.stop()
    process.stderr.write(`${way}: ${(100 * cost.cpu).toFixed(1)} % of a core, ${cost.megabytes.toFixed(0)} MB\n`)
  }
}
const median = (way: string, fact: keyof Cost): number =>
  quantile(
    (costs.get(way) ?? []).map((cost) => cost[fact]),
    0.5,
  )
for (const way of costs.keys()) {
  const part = median(way, 'cpu') / median('ffmpeg', 'cpu')
  process.stdout.write(
    `${way.padEnd(10)} ${(100 * median(way, 'cpu')).toFixed(1)} % of a core (${part.toFixed(2)} of ffmpeg's), ${median(way, 'megabytes').toFixed(0)} MB\n`,
  )
}
process.stdout.write(`a recording costs ${((median('recorded', 'megabytes') - median('engine', 'megabytes')) / COUNT).toFixed(1)} MB\n`)
