/**
 * The service while nothing plays and nobody asks: CPU time, how often a thread wakes up, and memory (proportional set size) of API and
 * engine, empty and with so many on-demand pipelines. idle [SECONDS] [PIPELINES …]
 */
import { readdirSync, readFileSync } from 'node:fs'
import { cpuSeconds, sleep } from '../../helpers/bench/measure.ts'
import { createIdlePipelines, withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'
import type { Service } from '../../helpers/process/service.ts'

const [seconds = 30, ...given] = process.argv.slice(2).map(Number)
const SIZES = given.length === 0 ? [0, 1000, 10_000] : given
const SETTLE_MS = 10_000

interface Wakeups {
  readonly name: string
  readonly count: number
}

/** How often each thread gave up the processor by itself (proc(5), voluntary_ctxt_switches): each time it was woken before. */
const wakeups = (pid: number): ReadonlyMap<string, Wakeups> =>
  new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')
      const count = Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1])
      return [thread, { name: thread === String(pid) ? 'main' : (/^Name:\s+(.*)$/m.exec(status)?.[1] ?? ''), count }]
    }),
  )

/** Kilobytes; what several processes share counts in part for each. */
const pss = (pid: number): number => Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])

const measureProcess = async (pid: number) => {
  const before = { cpu: cpuSeconds(pid), wakeups: wakeups(pid) }
  await sleep(seconds * 1000)
  const cpu = cpuSeconds(pid) - before.cpu
  const perSecond = [...wakeups(pid)].map(([thread, { name, count }]) => ({
    name,
    perSecond: Number(((count - (before.wakeups.get(thread)?.count ?? 0)) / seconds).toFixed(2)),
  }))
  return {
    cpu_percent: Number(((cpu / seconds) * 100).toFixed(2)),
    wakeups_main: perSecond.find(({ name }) => name === 'main')?.perSecond,
    wakeups_others: Number(perSecond.reduce((sum, thread) => sum + (thread.name === 'main' ? 0 : thread.perSecond), 0).toFixed(2)),
    pss_mb: Number((pss(pid) / 1024).toFixed(1)),
  }
}

const measure = async (service: Service, size: number): Promise<number> => {
  await createIdlePipelines(service, size)
  await sleep(SETTLE_MS)
  const [api, engine] = await Promise.all([measureProcess(service.pid), measureProcess(service.enginePid())])
  const total = Number((api.pss_mb + engine.pss_mb).toFixed(1))
  process.stdout.write(
    `${JSON.stringify({ pipelines: size, cpu_percent: Number((api.cpu_percent + engine.cpu_percent).toFixed(2)), pss_mb: total, api, engine })}\n`,
  )
  return total
}

let empty: number | undefined
for (const size of SIZES) {
  // Each in a service of its own: memory that was used once is not given back at once.
  const total = await withService((service) => measure(service, size), { SVC_OUTPUT_PORTS: String(await freePort()) })
  empty ??= total
  if (size > 0)
    process.stdout.write(`${JSON.stringify({ pipelines: size, kb_each: Number((((total - empty) * 1024) / size).toFixed(1)) })}\n`)
}
