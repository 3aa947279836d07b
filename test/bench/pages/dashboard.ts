/**
 * The dashboard in Chromium. dashboard [LOADS] [SECONDS]. From navigation to the first live picture (GOPs of 2 s), without and
 * with the browser's cache; from a frame's arrival at the host to its number on the canvas, read back, and what of it is the
 * decoder's; how soon 200 pipelines are there, and what they cost then.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { quantile, sleep, startRtspFeed, startServer } from '../../helpers/bench/measure.ts'
import { createIdlePipelines, createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'
import { framesPerSecond, recordFrameClock } from '../../helpers/media/frame-clock.ts'
import type { Service } from '../../helpers/process/service.ts'
import { openReader } from '../../helpers/rtsp/reader.ts'

const loads = Number(process.argv[2] ?? 20)
const seconds = Number(process.argv[3] ?? 15)
const PIPELINES = 200
const GOP_SECONDS = 2
const CAMERA_PORT = 23_457

const browser = await launchChromium({ whole: true })
const rounded = (value: number): number => Math.round(value * 10) / 10
const summary = (values: readonly number[]) => ({
  samples: values.length,
  least_ms: rounded(Math.min(...values)),
  median_ms: rounded(quantile(values, 0.5)),
  p95_ms: rounded(quantile(values, 0.95)),
})

/** Milliseconds from the navigation to the first live picture, as the page itself sees it. */
const firstPicture = async (context: BrowserContext, url: string): Promise<number> => {
  const page = await context.newPage()
  await page.goto(`${url}/svc/dashboard/#/pipeline/watched`, { waitUntil: 'commit' })
  const shown = await page.waitForFunction(() => document.querySelector('.live-shown') !== null && performance.now(), undefined, {
    polling: 'raf',
  })
  const milliseconds = (await shown.jsonValue()) as number
  await page.close()
  return milliseconds
}

const openContext = (): Promise<BrowserContext> => browser.newContext({ viewport: { width: 1280, height: 900 } })

/** `cold`: a new profile each time; `warm`: the files of the page are in the browser's cache. In turns. */
const measureFirstPicture = (): Promise<object> =>
  withService(async (service) => {
    const camera = await startRtspFeed(CAMERA_PORT)
    await createPipeline(service, { id: 'watched', source: { uri: camera.url } })
    // A whole GOP is there to begin with.
    await sleep(GOP_SECONDS * 1000)
    const warmed = await openContext()
    await firstPicture(warmed, service.url)
    const times = { cold: [] as number[], warm: [] as number[] }
    for (let load = 0; load < loads; load++) {
      const fresh = await openContext()
      times.cold.push(await firstPicture(fresh, service.url))
      await fresh.close()
      times.warm.push(await firstPicture(warmed, service.url))
    }
    await camera.stop()
    return { cold: summary(times.cold), warm: summary(times.warm) }
  })

/** When a frame was given to the decoder, came out of it and was drawn, milliseconds since the epoch. */
interface Shown {
  readonly frame: number
  readonly given: number
  readonly decoded: number
  readonly drawn: number
}

/** Runs in the page before its scripts: notes these times, and reads the number of some frames back from the canvas, which takes time. */
const noteFrames = (): void => {
  const READ_EVERY = 7
  let drawn = 0
  const nowMs = (): number => performance.timeOrigin + performance.now()
  const given = new Map<number, number>()
  const decoded = new Map<number, number>()
  const shown: Shown[] = []
  Object.assign(window, { shown })
  window.VideoDecoder = class extends VideoDecoder {
    constructor({ output, error }: VideoDecoderInit) {
      const onFrame = (frame: VideoFrame): void => {
        decoded.set(frame.timestamp, nowMs())
        output(frame)
      }
      super({ output: onFrame, error })
    }
    override decode(chunk: EncodedVideoChunk): void {
      given.set(chunk.timestamp, nowMs())
      super.decode(chunk)
    }
  }
  const { drawImage } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.drawImage = function (this: CanvasRenderingContext2D, ...args: unknown[]) {
    drawImage.apply(this, args as Parameters<typeof drawImage>)
    const [image] = args
    if (!(image instanceof VideoFrame) || ++drawn % READ_EVERY !== 0) return
    const { width, height } = this.canvas
    const { data } = this.getImageData(0, height / 2, width, 1)
    let frame = 0
    for (let bit = 0; bit < 16; bit++) if ((data[4 * Math.floor(((bit + 0.5) * width) / 16)] ?? 0) > 128) frame += 2 ** bit
    const { timestamp } = image
    shown.push({ frame, given: given.get(timestamp) ?? Number.NaN, decoded: decoded.get(timestamp) ?? Number.NaN, drawn: nowMs() })
  }
}

const SET_UP_SECONDS = 30

/** Type of a NAL unit: ITU-T H.264 table 7-1. */
const SPS = 7
const RTP_HEADER_BYTES = 12

/** A camera whose frames show their number, and when the last packet of each comes to a reader of its own. */
const startNumberedCamera = async (folder: string) => {
  const file = join(folder, 'clock.ts')
  const gop = framesPerSecond * GOP_SECONDS
  recordFrameClock(file, gop, '1920:1080', seconds + SET_UP_SECONDS)
  const line = `filesrc location=${file} ! tsdemux ! h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1`
  const camera = await startServer('gst-rtsp-server', CAMERA_PORT, line)
  /** Of the units of each GOP, milliseconds since the epoch. */
  const gops: number[][] = []
  let startsGop = false
  const reader = await openReader(camera.url, {
    record: false,
    onPacket: ({ data, marker, arrivedMs }) => {
      startsGop ||= ((data[RTP_HEADER_BYTES] ?? 0) & 0x1f) === SPS
      if (!marker) return
      if (startsGop) gops.push([])
      startsGop = false
      gops.at(-1)?.push(performance.timeOrigin + arrivedMs)
    },
  })
  /** The newest arrival of a frame with this place in its GOP that was before a time: which GOPs the server leaves out is not known. */
  const arrivalOf = (frame: number, before: number): number | undefined =>
    gops.findLast((times) => (times[frame % gop] ?? Number.POSITIVE_INFINITY) <= before)?.[frame % gop]
  const stop = async (): Promise<void> => {
    await reader.close()
    await camera.stop()
  }
  return { url: camera.url, arrivalOf, stop }
}

/** Of each frame at 1080p30: before the decoder (service, socket, page), in it, after it (turn of the display, drawing), and the sum. */
const measureDelay = (): Promise<object> =>
  withService(async (service) => {
    const folder = mkdtempSync(join(tmpdir(), 'dashboard-'))
    const camera = await startNumberedCamera(folder)
    try {
      await createPipeline(service, { id: 'watched', source: { uri: camera.url, latency_ms: 0 } })
      const page = await browser.newPage()
      await page.addInitScript(noteFrames)
      await page.goto(`${service.url}/svc/dashboard/#/pipeline/watched`)
      await page.locator('.live-shown').waitFor()
      await sleep(3000)
      await page.evaluate(() => (window as unknown as { shown: Shown[] }).shown.splice(0))
      await sleep(seconds * 1000)
      const shown = await page.evaluate(() => (window as unknown as { shown: Shown[] }).shown)
      await page.close()
      const frames = shown.flatMap((times) => {
        const arrived = camera.arrivalOf(times.frame, times.drawn)
        return arrived === undefined ? [] : [{ ...times, arrived }]
      })
      return {
        before_decoder: summary(frames.map(({ given, arrived }) => given - arrived)),
        decoder: summary(frames.map(({ decoded, given }) => decoded - given)),
        after_decoder: summary(frames.map(({ drawn, decoded }) => drawn - decoded)),
        beyond_decoder: summary(frames.map(({ drawn, decoded, given, arrived }) => drawn - decoded + given - arrived)),
        all: summary(frames.map(({ drawn, arrived }) => drawn - arrived)),
      }
    } finally {
      await camera.stop()
      rmSync(folder, { recursive: true })
    }
  })

/** The sums of the browser's own measurements of a page, such as `ScriptDuration`, seconds. */
const measurePage = async (page: Page): Promise<() => Promise<ReadonlyMap<string, number>>> => {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return new Map(metrics.map(({ name, value }) => [name, value]))
  }
}

const openMany = async (service: Service): Promise<object> => {
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } })
  await page.goto(`${service.url}/svc/dashboard/`, { waitUntil: 'commit' })
  const count = (wanted: number) => document.querySelectorAll('.card').length === wanted && performance.now()
  const ready = (await (await page.waitForFunction(count, PIPELINES, { polling: 'raf' })).jsonValue()) as number
  await sleep(3000)
  const metrics = await measurePage(page)
  const before = await metrics()
  await sleep(seconds * 1000)
  const after = await metrics()
  const share = (name: string): number => rounded((100 * ((after.get(name) ?? 0) - (before.get(name) ?? 0))) / seconds)
  await page.close()
  return { ready_ms: Math.round(ready), scripting_percent: share('ScriptDuration'), all_tasks_percent: share('TaskDuration') }
}

const measureMany = (): Promise<object> =>
  withService(async (service) => {
    await createIdlePipelines(service, PIPELINES)
    return openMany(service)
  })

console.log(JSON.stringify({ navigation_to_first_picture: await measureFirstPicture() }))
console.log(JSON.stringify({ arrival_to_canvas: await measureDelay() }))
console.log(JSON.stringify({ pipelines: PIPELINES, ...(await measureMany()) }))
await browser.close()
