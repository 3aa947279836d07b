/**
 * Another program holds the lock of the database while pipelines play, a browser shows the dashboard and a client reads: the longest block of
 * the API's event loop, the longest gap between pictures of an RTSP reader (10 a second), the slowest read, and how long a refused change
 * takes. `before`: as long without a lock, since a busy host delays all of them.
 * database-lock [SECONDS] [PIPELINES]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { quantile, sleep } from '../../helpers/bench/measure.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'
import { dashboardOf } from '../../helpers/browser/dashboard.ts'
import { startService } from '../../helpers/process/service.ts'
import { watchLoop } from '../../helpers/process/watch-loop.ts'
import { openReader } from '../../helpers/rtsp/reader.ts'

const [seconds = 30, pipelines = 10] = process.argv.slice(2).map(Number)
const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const loop = watchLoop(dataDir)
const service = await startService({ dataDir, env: { SVC_OUTPUT_PORTS: '20000-20999', ...loop.env } })
const browser = await launchChromium()
try {
  for (let at = 0; at < pipelines; at += 1) {
    const source = { uri: 'test://ball?width=160&height=120&fps=10&klv=1' }
    await service.request('POST', '/svc/pipeline?start=background', {
      id: `p${at}`,
      source,
      klv_config: { auto_extract_geolocation: true },
    })
  }
  const page = await browser.newPage()
  await page.goto(dashboardOf(service))
  await sleep(5000)
  const { output } = (await service.request('GET', '/svc/pipeline/p0')).body
  const pictures = { last: performance.now(), longestGap: 0 }
  const reader = await openReader(output.uri.replace('0.0.0.0', '127.0.0.1'), {
    tracks: [0],
    record: false,
    onPacket: ({ arrivedMs }) => {
      pictures.longestGap = Math.max(pictures.longestGap, arrivedMs - pictures.last)
      pictures.last = arrivedMs
    },
  })
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
    Object.assign(pictures, { last: performance.now(), longestGap: 0 })
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
    return {
      longest_block_ms: Math.round(await loop.longest(service.pid)),
      longest_gap_ms: Math.round(pictures.longestGap),
      read_ms: of(reads),
      change_ms: of(answers),
    }
  }
  const before = await phase(200)
  const lock = await backup.transaction('write')
  const locked = await phase(503)
  await lock.rollback()
  backup.close()
  await reader.close()
  console.log(JSON.stringify({ seconds, pipelines, before, locked }))
} finally {
  await browser.close()
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
