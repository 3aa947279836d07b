/**
 * The timeline of a recorded day with 20 losses of the source, in Chromium: from the navigation to its ranges, with the files of the page in
 * the browser's cache, and from a click on the day to its ranges: the newest moment is in the middle. timeline [LOADS = 20]
 */
import { execFileSync } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { openIndex } from '../../../db/recordings/open-index.ts'
import { addSegments } from '../../../db/recordings/segment-rows.ts'
import { segmentPlace } from '../../../lib/segments/segment-name.ts'
import { quantile } from '../../helpers/bench/measure.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'
import { startService } from '../../helpers/process/service.ts'

const loads = Number(process.argv[2] ?? 20)
const SEGMENT_MS = 4000
const PER_DAY = 86_400_000 / SEGMENT_MS
const LOSSES = 20
const PER_SPAN = PER_DAY / LOSSES
/** Shorter ones are not seen in a day. */
const LOSS_MS = 300_000
/** At least, in the half of a day. */
const RANGES = 8
const BATCH = 1000
const ID = 'quay'

const dataDir = mkdtempSync(join(tmpdir(), 'bench-timeline-'))
const folder = join(dataDir, 'recordings')
const clip = join(dataDir, 'clip.ts')
const coding = '-f lavfi -i testsrc2=size=320x180:rate=25 -t 4 -c:v libx264 -preset ultrafast -g 100 -pix_fmt yuv420p -f mpegts'
execFileSync('ffmpeg', ['-v', 'error', ...coding.split(' '), clip])
const { size } = statSync(clip)
const begin = Date.now() - PER_DAY * SEGMENT_MS - LOSSES * LOSS_MS

const segment = (number: number) => {
  const span = begin + Math.floor(number / PER_SPAN) * (PER_SPAN * SEGMENT_MS + LOSS_MS)
  const startedAt = span + (number % PER_SPAN) * SEGMENT_MS
  const times = { started_at: startedAt, ended_at: startedAt + SEGMENT_MS, span, first_dts: 126_000 }
  const media = { bytes: size, tracks: ['h264'], format: 'avc1.42C00D 320x180', counts: { 256: 4 }, seen: [] }
  return { pipeline_id: ID, run: 'run', ...times, ...media }
}

const makeDay = async (): Promise<void> => {
  mkdirSync(folder)
  const client = await openIndex(pathToFileURL(join(folder, 'index.db')).href)
  if (client === false) throw new Error('no index')
  for (let first = 0; first < PER_DAY; first += BATCH) {
    const segments = Array.from({ length: Math.min(BATCH, PER_DAY - first) }, (_, at) => segment(first + at))
    for (const { started_at } of segments) {
      const { day, name } = segmentPlace(started_at)
      const path = join(folder, ID, day, name)
      mkdirSync(dirname(path), { recursive: true })
      linkSync(clip, path)
    }
    await addSegments(client, segments)
  }
  client.close()
}

/** Milliseconds until so many ranges at least are drawn: since the navigation, or since a button was clicked. */
const drawn = async (page: Page, ranges: number, button?: string): Promise<number> => {
  const shown = await page.evaluateHandle(
    async ([count, name]) => {
      const since = name === undefined ? 0 : performance.now()
      if (name !== undefined) [...document.querySelectorAll('button')].find(({ textContent }) => textContent === name)?.click()
      while (document.querySelectorAll('.timeline-span').length < count) await new Promise(requestAnimationFrame)
      return performance.now() - since
    },
    [ranges, button] as const,
  )
  return (await shown.jsonValue()) as number
}

const summary = (values: readonly number[]): string =>
  `median ${quantile(values, 0.5).toFixed(0)}, 95 % ${quantile(values, 0.95).toFixed(0)}, most ${Math.max(...values).toFixed(0)} ms of ${values.length}`

await makeDay()
const service = await startService({ dataDir })
const browser = await launchChromium()
try {
  const source = { uri: 'rtsp://127.0.0.1:1/nobody' }
  await service.request('POST', '/svc/pipeline', { id: ID, mode: 'simple', on_demand: true, source })
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const times = { loaded: [] as number[], clicked: [] as number[] }
  for (let load = 0; load <= loads; load += 1) {
    const page = await context.newPage()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/${ID}`, { waitUntil: 'commit' })
    const loaded = await drawn(page, 1)
    const clicked = await drawn(page, RANGES, 'Day')
    await page.close()
    // The first fills the browser's cache.
    if (load > 0) times.loaded.push(loaded)
    if (load > 0) times.clicked.push(clicked)
  }
  process.stdout.write(`from the navigation: ${summary(times.loaded)}\nfrom the click: ${summary(times.clicked)}\n`)
} finally {
  await browser.close()
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
