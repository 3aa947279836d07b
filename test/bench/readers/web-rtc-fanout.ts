/**
 * CPU time and memory of players by WebRTC of one RTSP source of 8 Mbit/s that passes through: web-rtc-fanout [SESSIONS,…] [SECONDS]
 * [CHURN]. CHURN: so many sessions are opened and closed at the end, twice, and what they leave is told (of this service alone). With PEER, a command that serves
 * the source in its variable SOURCE, and PEER_WHEP, where it does so, the same is measured of that.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cpuSeconds, sleep, start, startRtspFeed } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'

const [counts = '1,25', seconds = '15', churn = '500'] = process.argv.slice(2)
const WARM_UP_MS = 15_000
const SETTLE_MS = 3000
const PACKET_BYTES = 1200

const rounded = (value: number): number => Math.round(value * 1000) / 1000

/** Private and shared memory (PSS), megabytes. */
const memoryMb = (pid: number): number => Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024

const sum = (pids: readonly number[], of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0)

const held = (pids: readonly number[]) => ({
  memory_mb: rounded(sum(pids, memoryMb)),
  descriptors: sum(pids, (pid) => readdirSync(`/proc/${pid}/fd`).length),
  threads: sum(pids, (pid) => readdirSync(`/proc/${pid}/task`).length),
})

const startLoad = (whep: string, sessions: number, way: 'open' | 'churn') => {
  const load = start(process.execPath, [join(import.meta.dirname, '../../helpers/bench/web-rtc-load.ts'), whep, String(sessions), way])
  return { ...load, last: () => JSON.parse(load.lines.at(-1) ?? '{}') as { readers: number; bytes: number; opened: number } }
}

const measureSessions = async (whep: string, pids: readonly number[], sessions: number): Promise<object> => {
  const before = held(pids)
  const load = startLoad(whep, sessions, 'open')
  await load.until((lines) => lines.length > 0 && load.last().readers === sessions)
  await sleep(WARM_UP_MS)
  const sample = () => ({ cpu: sum(pids, cpuSeconds), bytes: load.last().bytes, at: performance.now() })
  const [from, holds] = [sample(), held(pids)]
  await sleep(Number(seconds) * 1000)
  const to = sample()
  await load.stop()
  await sleep(SETTLE_MS)
  const passed = (to.at - from.at) / 1000
  return {
    sessions,
    cpu_percent: rounded((100 * (to.cpu - from.cpu)) / passed),
    mbit_per_session: rounded(((to.bytes - from.bytes) * 8) / 1e6 / passed / sessions),
    memory_mb_per_session: rounded((holds.memory_mb - before.memory_mb) / sessions),
    held: holds,
  }
}

const measure = async (name: string, whep: string, pids: readonly number[]): Promise<void> => {
  for (const sessions of counts.split(',').map(Number))
    console.log(JSON.stringify({ server: name, ...(await measureSessions(whep, pids, sessions)) }))
  for (const round of name === 'engine' && Number(churn) > 0 ? [1, 2] : []) {
    const before = held(pids)
    const load = startLoad(whep, Number(churn), 'churn')
    await new Promise((resolve) => load.process.once('exit', resolve))
    await sleep(SETTLE_MS)
    console.log(JSON.stringify({ server: name, round, opened_and_closed: load.last().opened, before, after: held(pids) }))
  }
}

const feed = await startRtspFeed(await freePort(), PACKET_BYTES)
await withService(async (service) => {
  await createPipeline(service, { id: 'bench', source: { uri: feed.url, latency_ms: 0 } })
  await measure('engine', `${service.url}/svc/pipeline/bench/whep`, [service.enginePid(), service.pid])
})
const { PEER, PEER_WHEP } = process.env
if (PEER !== undefined && PEER_WHEP !== undefined) {
  process.env.SOURCE = feed.url
  const peer = start('sh', ['-c', `exec ${PEER}`])
  await sleep(SETTLE_MS)
  await measure('peer', PEER_WHEP, [peer.pid])
  await peer.stop()
}
await feed.stop()
