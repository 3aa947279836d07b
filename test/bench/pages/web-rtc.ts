/**
 * The page of a pipeline in Chromium over plain http from another address: web-rtc [SECONDS] [LOADS] [LOSS_SECONDS]. A camera at 720p30
 * draws the number of each picture. From that to the display of the picture, by WebRTC and by Media Source; from the navigation to the
 * first picture; freezes over links that lose 1 % and 5 %, delay by 50 ms and let 2 % overtake, and over one that is too narrow. Needs root.
 */
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type LinkFaults, openBadLink } from '../../helpers/bench/bad-link.ts'
import { openFarHost } from '../../helpers/bench/far-host.ts'
import { quantile, sleep, start } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { launchChromium } from '../../helpers/browser/chromium.ts'
import type { Service } from '../../helpers/process/service.ts'

const [seconds = 60, loads = 20, lossSeconds = 120] = process.argv.slice(2).map(Number)
const WARM_SECONDS = 4
/** A load that has no picture by then counts as one without end. */
const LOAD_MS = 2000
const CREDENTIAL = 'a password of a bench'
const PATH = '/svc/dashboard/#/pipeline/clock'

const rounded = (value: number): number => Math.round(value * 10) / 10
const summary = (values: readonly number[]) => ({
  samples: values.length,
  median_ms: rounded(quantile(values, 0.5)),
  p95_ms: rounded(quantile(values, 0.95)),
  most_ms: rounded(Math.max(...values)),
})

/** A picture on the display: its number, and when it is seen, milliseconds since the epoch. */
interface Shown {
  readonly frame: number
  readonly at: number
}

/** Runs in the page before its scripts: notes when it shows its first picture, milliseconds from the navigation. */
const noteFirst = (): void => {
  const look = (): void => {
    if (document.querySelector('.live-shown') === null) requestAnimationFrame(look)
    else Object.assign(window, { firstAt: performance.now() })
  }
  requestAnimationFrame(look)
}

/** Runs in the page: notes each picture of the video element from now on. */
const noteShown = (): void => {
  const video = document.querySelector<HTMLVideoElement>('.live-surfaces > video:not([hidden])')
  if (video === null) throw new Error('There is no video')
  const [cells, cell] = [16, 4]
  const canvas = Object.assign(document.createElement('canvas'), { width: cells * cell, height: cell })
  const context = canvas.getContext('2d', { willReadFrequently: true })
  const shown: Shown[] = []
  Object.assign(window, { shown })
  const note: VideoFrameRequestCallback = (_now, { expectedDisplayTime }) => {
    video.requestVideoFrameCallback(note)
    context?.drawImage(video, 0, 0, video.videoWidth, 64, 0, 0, cells * cell, cell)
    const { data = [] } = context?.getImageData(0, cell / 2, cells * cell, 1) ?? {}
    let frame = 0
    for (let bit = 0; bit < cells; bit += 1) if ((data[4 * (bit * cell + cell / 2)] ?? 0) > 128) frame += 2 ** bit
    shown.push({ frame, at: performance.timeOrigin + Math.max(performance.now(), expectedDisplayTime) })
  }
  video.requestVideoFrameCallback(note)
}

const far = openFarHost('bench-far', 77)
const browser = await launchChromium({ whole: true })
const camera = start('ip', [...far.prefix.slice(1), '/usr/bin/python3', join(import.meta.dirname, '../../fixtures/clock-camera.py')])
await camera.until((lines) => lines.length > 0)
const { port: cameraPort } = JSON.parse(camera.lines[0] ?? '') as { port: number }

/** When each picture was drawn, by its number; the newest of those with the same. */
const drawnAt = (): ReadonlyMap<number, number> =>
  new Map(
    camera.lines.slice(1).map((line) => {
      const { frame, at } = JSON.parse(line) as { frame: number; at: number }
      return [frame, at]
    }),
  )

/** One login serves all pages: more than ten a minute are refused. */
let token = ''

const openPage = async ({ url }: Service): Promise<Page> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  await page.goto(`${url}/svc/healthz`)
  await page.evaluate((stored) => sessionStorage.setItem('token', stored), token)
  return page
}

/** Watches for some seconds, after a while. */
const watch = async (page: Page, forSeconds: number): Promise<readonly Shown[]> => {
  await page.locator('.live-shown video:not([hidden])').waitFor()
  await sleep(WARM_SECONDS * 1000)
  await page.evaluate(noteShown)
  await sleep(forSeconds * 1000)
  return page.evaluate(() => (window as unknown as { shown: Shown[] }).shown)
}

const delays = (shown: readonly Shown[]): readonly number[] => {
  const drawn = drawnAt()
  return shown.flatMap(({ frame, at }) => {
    const from = drawn.get(frame)
    return from === undefined ? [] : [at - from]
  })
}

const measureDelay = async (service: Service, way: 'WebRTC' | 'Media Source'): Promise<object> => {
  const page = await openPage(service)
  const refusal = { error: true, code: 'SERVICE_UNAVAILABLE', message: 'Refused for a measurement.', details: { reason: 'webrtc_port' } }
  if (way === 'Media Source') await page.route('**/whep*', (route) => route.fulfill({ status: 503, json: refusal }))
  await page.goto(`${service.url}${PATH}`)
  await page.getByText(way).first().waitFor()
  const shown = await watch(page, seconds)
  await page.context().close()
  return summary(delays(shown))
}

const measureFirst = async (service: Service): Promise<object> => {
  const times: number[] = []
  for (let load = 0; load < loads; load += 1) {
    const page = await openPage(service)
    await page.goto('about:blank')
    await page.addInitScript(noteFirst)
    await page.goto(`${service.url}${PATH}`, { waitUntil: 'commit' })
    // What asks the page meanwhile delays it by 60 ms.
    await sleep(LOAD_MS)
    const at = await page.evaluate(() => (window as unknown as { firstAt?: number }).firstAt)
    times.push(at ?? Number.POSITIVE_INFINITY)
    await page.context().close()
  }
  return summary(times)
}

/** The page reaches the service over a bad link. */
const measureLoss = async (service: Service, faults: LinkFaults): Promise<object> => {
  const link = await openBadLink({ host: far.address, port: service.webRtcPort }, 1)
  const page = await openPage(service)
  await page.route('**/whep*', async (route) => {
    // The service would reach the page past the link.
    const offer = route.request().postData() ?? ''
    const answer = await route.fetch({ postData: offer.replaceAll(/^a=candidate:.*\r\n/gm, '') })
    const sdp = (await answer.text()).replaceAll(/^(a=candidate:\S+ 1 UDP \d+) \S+ \d+ typ host/gm, `$1 127.0.0.1 ${link.port} typ host`)
    await route.fulfill({ response: answer, body: sdp })
  })
  await page.goto(`${service.url}${PATH}`)
  await page.getByText('WebRTC').first().waitFor()
  link.set(faults)
  const shown = await watch(page, lossSeconds)
  const stillBy = await page.getByText('Played by WebRTC').count()
  await page.context().close()
  link.close()
  const gaps = shown.slice(1).map(({ at }, index) => at - (shown[index]?.at ?? at))
  return {
    ...faults,
    ...link.counts,
    still_by_web_rtc: stillBy > 0,
    gaps: summary(gaps),
    gaps_over_500_ms: gaps.filter((gap) => gap > 500).length,
    gaps_over_1000_ms: gaps.filter((gap) => gap > 1000).length,
    delay: summary(delays(shown)),
  }
}

const print = (what: object): void => console.log(JSON.stringify(what))
try {
  await withService(
    async (service) => {
      const login = await service.request('POST', '/svc/auth/login', { password: CREDENTIAL })
      const send = service.request
      token = (login.body as { token: string }).token
      const authorization = `Bearer ${token}`
      await createPipeline(
        { ...service, request: (method, path, body, headers) => send(method, path, body, { authorization, ...headers }) },
        { id: 'clock', source: { uri: `rtsp://127.0.0.1:${cameraPort}/clock`, latency_ms: 0 } },
      )
      if (seconds > 0) {
        print({ glass_to_glass: 'WebRTC', ...(await measureDelay(service, 'WebRTC')) })
        print({ glass_to_glass: 'Media Source', ...(await measureDelay(service, 'Media Source')) })
      }
      if (loads > 0) print({ navigation_to_first_picture: await measureFirst(service) })
      for (const loss of lossSeconds > 0 ? [0.01, 0.05] : [])
        print({ link: await measureLoss(service, { loss, delayMs: 50, reordered: 0.02 }) })
      if (lossSeconds > 0) print({ link: await measureLoss(service, { loss: 0, delayMs: 50, reordered: 0, capacity: 1_200_000 }) })
    },
    { SVC_HOST: far.address, SVC_PASSWORD: CREDENTIAL, SVC_OUTPUT_HOST: '0.0.0.0' },
    far.prefix,
  )
} finally {
  await browser.close()
  await camera.stop()
  far.close()
}
