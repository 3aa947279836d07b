/**
 * Hostile players by WebRTC, and floods at its UDP port, while another player watches: web-rtc-attacks [SECONDS [NAME]]. SECONDS: of each
 * attack. Tells how fast the engine answers meanwhile, and what is left 12 s later. Fails when the engine was slow or ended, the other
 * player lost its picture, or memory, sockets or threads stay.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { WEB_RTC_ATTACKS } from '../helpers/attacks/web-rtc-attacks.ts'
import { quantile, sleep, start } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'

const [seconds = '20', only] = process.argv.slice(2)
const run = promisify(execFile)
const HELPERS = join(import.meta.dirname, '../helpers')
const PROBE_MS = 20
/** What the engine may take for an answer, and what may stay of an attack: the allocator keeps 60 MB once 100 sessions were being connected. */
const LIMITS = { answerMs: 50, megabytes: 80, threads: 2, descriptors: 4 }
/** A session that is not connected is gone then. */
const SETTLE_MS = 12_000
const PICTURE_MS = 1000

/** How long the engine takes for an answer, while the work goes on, milliseconds. */
const probe = async (url: string, token: string, work: Promise<unknown>): Promise<readonly number[]> => {
  const times: number[] = []
  let isOver = false
  void work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const began = performance.now()
    const answer = await fetch(`${url}/status`, { headers: { authorization: `Bearer ${token}` } })
    await answer.text()
    times.push(performance.now() - began)
    await sleep(PROBE_MS)
  }
  return times
}

const held = (pid: number) => ({
  megabytes: Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
  threads: readdirSync(`/proc/${pid}/task`).length,
  descriptors: readdirSync(`/proc/${pid}/fd`).length,
})

const failures: string[] = []
await withService(async (service) => {
  const source = { uri: 'test://ball?width=320&height=240&fps=25&klv=1' }
  await createPipeline(service, { id: 'attacked', source, klv_config: { pass_klv: true } })
  const whep = `${service.url}/svc/pipeline/attacked/whep`
  const watcher = start(process.execPath, [join(HELPERS, 'bench/web-rtc-load.ts'), whep, '1'])
  const bytes = (): number => (JSON.parse(watcher.lines.at(-1) ?? '{"bytes":0}') as { bytes: number }).bytes
  await watcher.until(() => bytes() > 0)
  const { url, token } = JSON.parse(readFileSync(join(service.dataDir, 'engine.json'), 'utf8')) as { url: string; token: string }
  const engine = service.enginePid()
  const quiet = await probe(url, token, sleep(3000))
  console.log(JSON.stringify({ without: { p99_ms: quantile(quiet, 0.99), most_ms: Math.max(...quiet) } }))
  for (const name of Object.keys(WEB_RTC_ATTACKS).filter((each) => only === undefined || each === only)) {
    const before = held(engine)
    const worker = [
      join(HELPERS, 'attacks/try-web-rtc.ts'),
      name,
      String(Number(seconds) * 1000),
      whep,
      '127.0.0.1',
      String(service.webRtcPort),
    ]
    const attack = run(process.execPath, worker)
    let [last, lastAt, longestMs] = [bytes(), performance.now(), 0]
    const timer = setInterval(() => {
      const now = bytes()
      if (now > last) [last, lastAt] = [now, performance.now()]
      longestMs = Math.max(longestMs, performance.now() - lastAt)
    }, 50)
    const times = await probe(url, token, attack)
    clearInterval(timer)
    const during = held(engine)
    await sleep(SETTLE_MS)
    const after = held(engine)
    const found = {
      attack: name,
      count: Number((await attack).stdout),
      p99_ms: quantile(times, 0.99),
      most_ms: Math.max(...times),
      longest_without_picture_ms: longestMs,
      memory_mb: [before, during, after].map(({ megabytes }) => Math.round(megabytes)),
      threads: [before, during, after].map(({ threads }) => threads),
      descriptors: [before, during, after].map(({ descriptors }) => descriptors),
    }
    console.log(JSON.stringify(found, (_key, value: unknown) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value)))
    const fail = (why: string): void => void failures.push(`${name}: ${why}`)
    if (found.most_ms > LIMITS.answerMs) fail(`an answer took ${found.most_ms} ms`)
    if (longestMs > PICTURE_MS) fail(`the other player had no picture for ${longestMs} ms`)
    for (const what of ['megabytes', 'threads', 'descriptors'] as const)
      if (after[what] - before[what] > LIMITS[what]) fail(`${what} grew from ${before[what]} to ${after[what]}`)
    if (service.enginePid() !== engine) fail('the engine has ended')
  }
  await watcher.stop()
})
for (const failure of failures) console.error(failure)
process.exitCode = failures.length > 0 ? 1 : 0
