/**
 * The wall of the dashboard in Chromium: 16 pictures of 720p15 over one connection, how many a second each tile draws at rest, and while the
 * page scrolls up and down with how many pictures of its own. wall [TILES] [SECONDS]
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { quantile, sleep, startServer } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'

const [tiles = 16, seconds = 20] = process.argv.slice(2).map(Number)
const CAMERA_PORT = 23_458

/** Two minutes of 720p15 H.264 High at 2 Mbit/s, key frame every 2 s; made once. */
const camera720p15 = (): string => {
  const file = join(tmpdir(), 'video-pipeline-bench-720p15-2mbit-120s.ts')
  const coding =
    '-t 120 -c:v libx264 -preset veryfast -tune zerolatency -profile:v high -b:v 2M -maxrate 2M -bufsize 1M -g 30 -pix_fmt yuv420p -f mpegts'
  if (!existsSync(file))
    execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=15', ...coding.split(' '), '-y', file])
  return file
}

/** Counts what is drawn on each canvas, and the pictures of the page. */
const countDraws = (): void => {
  const counts = new Map<HTMLCanvasElement, number>()
  for (const name of ['drawImage', 'putImageData'] as const) {
    const draw = CanvasRenderingContext2D.prototype[name] as (...args: unknown[]) => void
    CanvasRenderingContext2D.prototype[name] = function counted(this: CanvasRenderingContext2D, ...given: unknown[]) {
      counts.set(this.canvas, (counts.get(this.canvas) ?? 0) + 1)
      draw.apply(this, given)
    }
  }
  const frames = { count: 0, isScrolling: false }
  const frame = (): void => {
    frames.count += 1
    if (frames.isScrolling) scrollTo(0, (1 + Math.sin(performance.now() / 400)) * 200)
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
  Object.assign(globalThis, { wallCounts: () => ({ draws: [...counts.values()], frames: frames.count }), wallFrames: frames })
}

type Counted = { readonly draws: readonly number[]; readonly frames: number }

const measure = async (page: Page, isScrolling: boolean) => {
  await page.evaluate((scrolls) => {
    ;(globalThis as unknown as { wallFrames: { isScrolling: boolean } }).wallFrames.isScrolling = scrolls
  }, isScrolling)
  const count = () => page.evaluate(() => (globalThis as unknown as { wallCounts: () => Counted }).wallCounts())
  const [before, begun] = [await count(), performance.now()]
  await sleep(seconds * 1000)
  const after = await count()
  const took = (performance.now() - begun) / 1000
  const rates = after.draws.map((drawn, at) => (drawn - (before.draws[at] ?? 0)) / took)
  const round = (value: number): number => Math.round(value * 10) / 10
  return {
    tiles: rates.length,
    least_fps: round(Math.min(...rates)),
    median_fps: round(quantile(rates, 0.5)),
    page_fps: round((after.frames - before.frames) / took),
  }
}

const browser = await launchChromium({ whole: true })
const camera = await startServer(
  'gst-rtsp-server',
  CAMERA_PORT,
  `filesrc location=${camera720p15()} ! tsdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1`,
)
try {
  const report = await withService(async (service) => {
    for (let at = 0; at < tiles; at++) await createPipeline(service, { id: `cam-${at}`, source: { uri: camera.url } })
    const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 } })).newPage()
    await page.addInitScript(countDraws)
    await page.goto(`${service.url}/svc/dashboard/#/wall`)
    await page.waitForFunction(
      (wanted) => (globalThis as unknown as { wallCounts: () => Counted }).wallCounts().draws.length >= wanted,
      tiles,
    )
    await sleep(5000)
    return { at_rest: await measure(page, false), scrolling: await measure(page, true) }
  })
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`)
} finally {
  await Promise.allSettled([browser.close(), camera.stop()])
}
