/**
 * Another program holds the lock of the database while pipelines play and a client reads: the longest block of the API's event loop, the
 * slowest read, and how long a refused change takes. `before`: as long without a lock, since a busy host delays both.
 * database-lock [SECONDS] [PIPELINES]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { quantile, sleep } from '../../helpers/bench/measure.ts'
import { startService } from '../../helpers/process/service.ts'
import { watchLoop } from '../../helpers/process/watch-loop.ts'

const [seconds = 30, pipelines = 10] = process.argv.slice(2).map(Number)
const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const loop = watchLoop(dataDir)
const service = await startService({ dataDir, env: { SVC_OUTPUT_PORTS: '20000-20999', ...loop.env } })
try {
  for (let at = 0; at < pipelines; at += 1) {
    const source = { uri: 'test://ball?width=160&height=120&fps=10&klv=1' }
    await service.request('POST', '/svc/pipeline?start=background', {
      id: `p${at}`,
      source,
      klv_config: { auto_extract_geolocation: true },
    })
  }
  await sleep(5000)
  const backup = createClient({ url: pathToFileURL(join(dataDir, 'service.db')).href })
  const of = (values: readonly number[]) => ({
    count: values.length,
    median: Math.round(quantile(values, 0.5)),
    most: Math.round(Math.max(...values)),
  })
  const timed = async (times: number[], status: number, ...call: Parameters<typeof service.request>) => {
    const begun = performance.now()
    const answer = await service.request(...call)
    if (answer.status !== status) throw new Error(`${call.join(' ')} is answered ${answer.status}`)
    times.push(performance.now() - begun)
  }
  const phase = async (status: number) => {
    const [end, reads, answers] = [performance.now() + seconds * 1000, [] as number[], [] as number[]]
    await loop.longest(service.pid)
    const change = async (at: number) => {
      for (let round = 0; performance.now() < end - 6000; round += 1) {
        const geolocation = { latitude: round % 90, longitude: at }
        await timed(answers, status, 'PATCH', `/svc/pipeline/p${at}`, { geolocation })
        await sleep(20)
      }
    }
    const changes = [0, 1, 2].map(change)
    while (performance.now() < end) {
      await timed(reads, 200, 'GET', '/svc/pipeline')
      await sleep(20)
    }
    await Promise.all(changes)
    return { longest_block_ms: Math.round(await loop.longest(service.pid)), read_ms: of(reads), change_ms: of(answers) }
  }
  const before = await phase(200)
  const lock = await backup.transaction('write')
  const locked = await phase(503)
  await lock.rollback()
  backup.close()
  console.log(JSON.stringify({ seconds, pipelines, before, locked }))
} finally {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
