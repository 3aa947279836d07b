/**
 * Restarts every few seconds for a while, with readers and event clients that come and go: memory, descriptors, handles and
 * processes must be level at the end. soak [SECONDS], 600 by default; exits 1 when they are not.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { engineFiles, mediaChildren } from '../helpers/api/host-truth.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { killProcess, openFiles, residentBytes } from '../helpers/process/processes.ts'
import type { Service } from '../helpers/process/service.ts'
import { createRandom } from '../helpers/random.ts'
import { openReader } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

const seconds = Number(process.argv[2] ?? 600)
const MB = 1024 * 1024
/** Children of the pipelines that play all the time: the engine reads the RTSP source itself. */
const LASTING = 1
const SAMPLE_MS = Math.max(2000, (seconds * 1000) / 40)
/** The first part of the time fills caches and pools; only what grows afterwards counts. */
const WARM_UP = 0.3
/**
 * V8 widens its young generation in steps whenever it likes, so resident memory is judged without what V8 holds, and what lives in that by itself.
 * Growth of the floor between the first and the last third after the warm-up that still counts as level.
 */
const ALLOWED = {
  engine_native_mb: 8,
  api_native_mb: 8,
  engine_heap_mb: 4,
  api_heap_mb: 4,
  engine_fds: 4,
  api_fds: 4,
  engine_timers: 2,
  api_timers: 2,
  engine_handles: 4,
  api_handles: 4,
  engine_threads: 1,
  api_threads: 1,
  sse_clients: 0,
  zombies: 0,
}

type Sample = Record<keyof typeof ALLOWED, number> & {
  readonly at_s: number
  readonly children: number
  readonly restarts: number
} & Readonly<Record<'engine_rss_mb' | 'api_rss_mb' | 'engine_heap_total_mb' | 'engine_external_mb', number>>

const threads = (pid: number): number => Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

const zombiesOf = (pid: number): number =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((child) => child !== '')
    .filter((child) => {
      try {
        return / Z /.test(readFileSync(`/proc/${child}/stat`, 'utf8'))
      } catch {
        return false
      }
    }).length

const sample = async (service: Service, began: number): Promise<Sample> => {
  const engine = service.enginePid()
  const metrics = String((await service.request('GET', '/svc/metrics')).body)
  const value = (name: string): number =>
    Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1],
    )
  const pipelines = (await service.request('GET', '/svc/pipeline')).body as readonly { runtime: { restarts: number } }[]
  return {
    at_s: Math.round((performance.now() - began) / 1000),
    engine_rss_mb: Math.round(residentBytes(engine) / MB),
    api_rss_mb: Math.round(residentBytes(service.pid) / MB),
    engine_native_mb: Math.round((residentBytes(engine) - value('svc_engine_nodejs_heap_size_total_bytes')) / MB),
    api_native_mb: Math.round((residentBytes(service.pid) - value('svc_api_nodejs_heap_size_total_bytes')) / MB),
    engine_heap_mb: Math.round(value('svc_engine_nodejs_heap_size_used_bytes') / MB),
    api_heap_mb: Math.round(value('svc_api_nodejs_heap_size_used_bytes') / MB),
    engine_heap_total_mb: Math.round(value('svc_engine_nodejs_heap_size_total_bytes') / MB),
    engine_external_mb: Math.round(value('svc_engine_nodejs_external_memory_bytes') / MB),
    engine_fds: engineFiles(service),
    api_fds: openFiles(service.pid),
    engine_threads: threads(engine),
    api_threads: threads(service.pid),
    engine_timers: value('svc_engine_nodejs_active_resources{type="Timeout"}'),
    api_timers: value('svc_api_nodejs_active_resources{type="Timeout"}'),
    engine_handles: value('svc_engine_nodejs_active_resources_total'),
    api_handles: value('svc_api_nodejs_active_resources_total'),
    sse_clients: value('svc_sse_clients'),
    zombies: zombiesOf(engine),
    children: mediaChildren(engine).length,
    restarts: pipelines.reduce((sum, { runtime }) => sum + runtime.restarts, 0),
  }
}

/** Reads a pipeline for a moment, again and again; answers how often it was refused. */
const keepReading = async (url: string, transport: 'tcp' | 'udp', pauseMs: number, going: () => boolean): Promise<number> => {
  let failures = 0
  while (going()) {
    const reader = await openReader(url, { transport, record: false }).catch(() => undefined)
    if (reader === undefined) failures += 1
    await sleep(1500)
    await reader?.close()
    await sleep(pauseMs)
  }
  return failures
}

const keepFollowing = async (service: Service, going: () => boolean): Promise<void> => {
  while (going()) {
    const leaving = new AbortController()
    const response = await fetch(`${service.url}/svc/events`, { signal: leaving.signal }).catch(() => undefined)
    await sleep(700)
    leaving.abort()
    await response?.body?.cancel().catch(() => {})
  }
}

/** What is left when nothing passing is under way: a leak raises the floor, a child more or less does not. */
const floor = (samples: readonly Sample[], name: keyof typeof ALLOWED): number => Math.min(...samples.map((each) => each[name]))

const SIZE = ['--width', '320', '--height', '240', '--fps', '25', '--gop-seconds', '1']
let source = await startRtspSource(SIZE)
await withService(async (service) => {
  await service.request('PUT', '/svc/settings', {
    reconnect: { initial_delay_ms: 100, max_delay_seconds: 1 },
    on_demand: { close_after_seconds: 1 },
  })
  const test = 'test://ball?width=320&height=240&fps=15&klv=1'
  const steady = await createPipeline(service, { id: 'steady', source: { uri: test } })
  const away = await createPipeline(service, {
    id: 'away',
    source: { uri: source.url('/klv'), latency_ms: 0 },
    klv_config: { pass_klv: true, auto_extract_geolocation: true },
  })
  const demanded = await createPipeline(service, { id: 'demanded', on_demand: true, source: { uri: test } })
  const attached = await Promise.all([openReader(steady, { record: false }), openReader(away, { record: false, transport: 'udp' })])
  const end = performance.now() + seconds * 1000
  const going = (): boolean => performance.now() < end
  const work = [
    keepReading(steady, 'udp', 0, going),
    keepReading(away, 'tcp', 0, going),
    // Long enough for it to be closed, and started by the next reader.
    keepReading(demanded, 'tcp', 2000, going),
    keepFollowing(service, going),
    keepFollowing(service, going),
  ]
  const random = createRandom(1)
  const began = performance.now()
  const samples: Sample[] = []
  let nextSample = began
  let rounds = 0
  for (; going(); rounds += 1) {
    const victims = mediaChildren(service.enginePid())
    const victim = random.pick(victims)
    const act = rounds % 4
    // That of the on-demand pipeline may end by itself meanwhile.
    if (act === 0 && victim !== undefined) killProcess(victim)
    if (act === 1) {
      await source.stop()
      source = await startRtspSource(['--port', String(source.port), ...SIZE])
    }
    if (act === 2) {
      await createPipeline(service, { id: 'passing', source: { uri: test } })
      await service.request('PUT', '/svc/pipeline/passing/screenshots/start', { interval_seconds: 1 })
    }
    if (act === 3) {
      await service.request('PUT', '/svc/pipeline/passing/stop')
      await service.request('DELETE', '/svc/pipeline/passing')
    }
    await sleep(1000)
    if (performance.now() >= nextSample) {
      nextSample += SAMPLE_MS
      // With the same children each time, so that their pipes and timers do not pass for a leak.
      await until(
        () => mediaChildren(service.enginePid()).length,
        (children) => children === LASTING,
        8000,
      ).catch(() => {})
      const taken = await sample(service, began)
      samples.push(taken)
      console.log(JSON.stringify(taken))
    }
  }
  const warm = samples.slice(Math.ceil(samples.length * WARM_UP))
  const third = Math.max(1, Math.floor(warm.length / 3))
  const growth = Object.fromEntries(
    (Object.keys(ALLOWED) as (keyof typeof ALLOWED)[]).map((name) => [
      name,
      floor(warm.slice(-third), name) - floor(warm.slice(0, third), name),
    ]),
  )
  const level = Object.entries(ALLOWED).every(([name, allowed]) => (growth[name] ?? 0) <= allowed)
  await Promise.all(work.slice(3))
  const failures = (await Promise.all(work.slice(0, 3))).map((count) => count ?? 0)
  console.log(
    JSON.stringify({ seconds, rounds, level, growth, readers_refused: failures, attached_open: attached.map(({ open }) => open) }),
  )
  for (const reader of attached) await reader.close()
  if (!level) process.exitCode = 1
})
await source.stop()
