/**
 * What the sandbox costs a child that passes an RTSP source through, with and without it in turns: from the play request to its
 * answer (the first key frame is out), CPU time of engine and child, memory of the child's processes (PSS).
 * sandbox [ROUNDS] [SECONDS] [STARTS]
 */
import { readFileSync } from 'node:fs'
import { cpuSeconds, quantile, sleep } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { processes } from '../../helpers/process/processes.ts'
import type { Service } from '../../helpers/process/service.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'

const [rounds = 3, seconds = 20, starts = 20] = process.argv.slice(2).map(Number)
const WAYS = { with: 'required', without: 'off' } as const

/** The processes that a process started, and theirs. */
const below = (pid: number, all = processes()): readonly number[] =>
  all.filter(({ parent }) => parent === pid).flatMap((child) => [child.pid, ...below(child.pid, all)])

const pssKb = (pid: number): number => Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])

const measure = async (service: Service, uri: string) => {
  await createPipeline(service, { id: 'bench', source: { uri } })
  const tree = [service.enginePid(), ...below(service.enginePid())]
  const cpu = () => tree.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  await sleep(2000)
  const before = cpu()
  await sleep(seconds * 1000)
  const used = (cpu() - before) / seconds
  const memory = tree.slice(1).reduce((sum, pid) => sum + pssKb(pid), 0) / 1024
  const waits: number[] = []
  for (let made = 0; made < starts; made += 1) {
    await service.request('PUT', '/svc/pipeline/bench/stop')
    // gst-rtsp-server needs a moment before it serves the next reader.
    await sleep(300)
    const began = performance.now()
    const { status } = await service.request('PUT', '/svc/pipeline/bench/play')
    if (status !== 200) throw new Error(`play answered ${status}`)
    waits.push(performance.now() - began)
  }
  return { start: quantile(waits, 0.5), cpu: used * 100, memory }
}

const source = await startRtspSource(['--width', '1280', '--height', '720', '--gop-seconds', '0.03', '--bitrate', '4000'])
const results = { with: [] as Awaited<ReturnType<typeof measure>>[], without: [] as Awaited<ReturnType<typeof measure>>[] }
for (let round = 0; round < rounds; round += 1) {
  for (const way of ['with', 'without'] as const) {
    const env = { SVC_SANDBOX: WAYS[way] }
    results[way].push(await withService((service) => measure(service, source.url('/mp2t')), env))
  }
}
await source.stop()
const of = (key: 'start' | 'cpu' | 'memory') => {
  const [ours, bare] = [results.with, results.without].map((list) => list.map((result) => result[key]))
  const three = (values: readonly number[] = []) => [0.5, 0, 1].map((part) => Number(quantile(values, part).toFixed(2)))
  return { with: three(ours), without: three(bare), ratio: Number((quantile(ours ?? [], 0.5) / quantile(bare ?? [], 0.5)).toFixed(3)) }
}
console.log(JSON.stringify({ start_ms: of('start'), cpu_percent: of('cpu'), memory_mb: of('memory') }))
