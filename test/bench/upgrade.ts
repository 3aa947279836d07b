/**
 * Upgrade in place with many pipelines and readers, the first request after a start, and plays through a kill of the engine.
 * upgrade.ts [PIPELINES] [STARTS] [KILLS]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mediaChildren } from '../helpers/api/host-truth.ts'
import { quantile, sleep } from '../helpers/bench/measure.ts'
import { createPipeline } from '../helpers/bench/service-run.ts'
import { startMarked } from '../helpers/process/marked-run.ts'
import { buildOther } from '../helpers/process/other-build.ts'
import { processesWith } from '../helpers/process/processes.ts'
import { request, type Service, startService } from '../helpers/process/service.ts'
import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { until } from '../helpers/until.ts'

const [pipelines = 20, starts = 50, kills = 20] = process.argv.slice(2).map(Number)
const SMALL = { uri: 'test://ball?width=160&height=120&fps=15' }
const PIPELINE = { mode: 'simple', source: SMALL }

const say = (what: string, facts: object): void => console.log(JSON.stringify({ what, ...facts }))
const spread = (ms: readonly number[]) => ({ median_ms: Math.round(quantile(ms, 0.5)), longest_ms: Math.round(Math.max(...ms)) })

const inDirectory = async (work: (dataDir: string) => Promise<void>): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-upgrade-'))
  try {
    await work(dataDir)
  } finally {
    for (const pid of processesWith(`SVC_DATA_DIR=${dataDir}`)) process.kill(pid, 'SIGKILL')
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
}

const upgrade = async (dataDir: string): Promise<void> => {
  const env = { SVC_OUTPUT_PORTS: '22000-22999' }
  const first = await startService({ dataDir, env })
  const urls: string[] = []
  for (let at = 0; at < pipelines; at += 1) urls.push(await createPipeline(first, { id: `p-${at}`, source: SMALL }))
  const readers = await Promise.all(urls.map((url, at) => openReader(url, { transport: at % 4 === 3 ? 'udp' : 'tcp' })))
  const children = mediaChildren(first.enginePid())
  const engine = first.enginePid()
  const other = buildOther('99.0.0')
  const asked = performance.now()
  const second = await startService({ dataDir, env, args: ['--takeover'], entry: other.entry })
  const took = performance.now() - asked
  for (const reader of readers) {
    const { count } = reader
    await reader.until(() => reader.count > count + 20, 60_000)
  }
  say('upgrade in place', {
    pipelines,
    took_ms: Math.round(took),
    version: (await second.request('GET', '/svc/version')).body.version,
    same_engine: second.enginePid() === engine,
    same_children: JSON.stringify(mediaChildren(engine)) === JSON.stringify(children),
    children: children.length,
    readers_open: readers.filter(({ open }) => open).length,
    gaps: readers.reduce((sum, { packets }) => sum + sequenceGaps(packets).length, 0),
  })
  for (const reader of readers) await reader.close()
  await second.stop()
  rmSync(other.folder, { recursive: true, force: true })
}

const firstRequests = async (): Promise<void> => {
  const statuses: number[] = []
  const ms: number[] = []
  for (let round = 0; round < starts; round += 1) {
    const run = await startMarked('node')
    try {
      await until(
        () =>
          request(`${run.url}/svc/healthz`, 'GET').then(
            ({ status }) => status,
            () => 0,
          ),
        (status) => status === 200,
      )
      const began = performance.now()
      statuses.push((await request(`${run.url}/svc/pipeline`, 'POST', { id: 'first', ...PIPELINE })).status)
      ms.push(performance.now() - began)
      run.signalGroup('SIGTERM')
      await run.exited
    } finally {
      run.clear()
    }
  }
  say('the first create after healthz', { starts, created: statuses.filter((status) => status === 201).length, ...spread(ms) })
}

const killPlays = async (dataDir: string): Promise<void> => {
  const service = await startService({ dataDir })
  await createPipeline(service, { id: 'one', source: SMALL })
  const ms: number[] = []
  let succeeded = 0
  for (let round = 0; round < kills; round += 1) {
    await service.request('PUT', '/svc/pipeline/one/stop')
    const began = performance.now()
    const play = playing(service)
    // The play takes some hundred milliseconds: the kill comes at every moment of it.
    await sleep((round * 400) / kills)
    process.kill(service.enginePid(), 'SIGKILL')
    if (await play) succeeded += 1
    ms.push(performance.now() - began)
    await until(
      async () => (await service.request('GET', '/svc/pipeline/one')).body.state,
      (state) => state === 'playing',
    )
  }
  say('kill -9 of the engine with a play in flight', { kills, succeeded, ...spread(ms) })
  await service.stop()
}

const playing = async (service: Service): Promise<boolean> => (await service.request('PUT', '/svc/pipeline/one/play')).status === 200

await inDirectory(upgrade)
await firstRequests()
await inDirectory(killPlays)
