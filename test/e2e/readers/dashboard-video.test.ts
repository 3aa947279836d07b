import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useChromium } from '../../helpers/browser/dashboard.ts'
import { startForgetfulNetwork } from '../../helpers/browser/forgetful-network.ts'
import { untilMoving } from '../../helpers/browser/live-picture.ts'
import { freePort } from '../../helpers/ports.ts'
import { killProcess } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'

import { sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { command, createPipeline, openSource, read, untilReaders, untilView, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

// A name of another host: browsers give pages of plain http no WebCodecs there.
const chromium = useChromium({ flags: ['--host-resolver-rules=MAP cam.test 127.0.0.1'], whole: true })
const service = shareService({ SVC_ALLOWED_HOSTS: 'cam.test', SVC_LOG_LEVEL: 'debug' })
const BALL = { source: { uri: 'test://ball?width=320&height=180&fps=6' } }

/** Opens the page of a pipeline in a browser of its own. */
const show = async (id: string, url = service.url) => {
  const opened = await chromium.open()
  await opened.page.goto(`${url}/svc/dashboard/#/pipeline/${id}`)
  return opened
}

const SIZE = ['--width', '320', '--height', '240', '--gop-seconds', '0.5']

const markPage = (page: Page) => page.evaluate(() => Object.assign(window, { isSame: true }))
const isSamePage = (page: Page) => page.evaluate(() => 'isSame' in window)

describe('the live picture in Chromium', { timeout: 60_000 }, () => {
  it('is decoded at once where the browser can, says how late it is, and takes screenshots', async () => {
    await createPipeline(service, 'ball', BALL)
    const { page, expectQuiet, expectAccessible } = await show('ball')
    await page.getByRole('img', { name: 'Live picture of ball' }).waitFor()
    await untilMoving(page)
    await page.getByText('Decoded at once (WebCodecs)').waitFor()
    await page.getByText(/^\d+ ms from data to picture$/).waitFor()
    await page.getByText('H.264 320×180').waitFor()
    // A page that takes longer than its first answer waits requests it again: for a moment there are two.
    await untilReaders(service, 'ball', 1)

    await page.getByRole('spinbutton', { name: 'Seconds between screenshots' }).fill('1')
    await page.getByRole('button', { name: 'Start screenshots' }).click()
    const picture = page.getByRole('img', { name: /^Taken at/ })
    await page.getByRole('heading', { name: 'Screenshots' }).scrollIntoViewIfNeeded()
    await picture.first().waitFor()
    await page.getByRole('button', { name: 'Stop screenshots' }).click()
    await page.getByRole('button', { name: 'Start screenshots' }).waitFor()
    await expectAccessible()
    const files = async () => (await service.request('GET', '/svc/files/screenshots')).body as { file: string }[]
    const before = await files()
    // The last one may come to the page after its answer.
    await expect.poll(() => picture.count()).toBe(before.length)
    const download = page.waitForEvent('download')
    await page
      .getByRole('button', { name: /^Download the screenshot/ })
      .first()
      .click()
    expect((await download).suggestedFilename()).toBe(before[0]?.file)
    await page
      .getByRole('button', { name: /^Delete the screenshot/ })
      .first()
      .press('Enter')
    await until(files, (now) => now.length === before.length - 1)
    // The button has gone with its picture: a keyboard goes on beside it.
    const region = page.getByRole('region', { name: 'Screenshots' })
    await expect.poll(() => region.evaluate((section) => section === document.activeElement)).toBe(true)
    expectQuiet()
  })

  it('is a picture a second of a stream without key frames at which the browser can begin', async () => {
    const encoder = 'x264enc intra-refresh=true tune=zerolatency speed-preset=ultrafast key-int-max=15'
    const raw_pipeline = `videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,framerate=15/1 ! ${encoder} ! rtph264pay name=pay0 config-interval=-1`
    await createPipeline(service, 'refreshed', { raw_pipeline })
    // The first picture of an encoder is an IDR.
    await untilView(service, 'refreshed', ({ runtime }) => runtime.frames > 30)
    const { page, expectQuiet } = await show('refreshed')
    await page.getByText(/^One picture a second, because the decoder of this browser refuses/).waitFor({ timeout: 30_000 })
    await untilMoving(page)
    expectQuiet()
  })

  it('is asked for before the page is drawn, but never of an on-demand pipeline that nobody reads', async () => {
    await createPipeline(service, 'ball', BALL)
    await createPipeline(service, 'demanded', { ...BALL, on_demand: true })
    const { page, expectQuiet } = await chromium.open()
    const paths: string[] = []
    page.on('request', (request) => paths.push(new URL(request.url()).pathname))
    const asked = page.waitForRequest('**/ball/video')
    // No other script comes before that.
    await page.route('**/*.js', async (request) => {
      await asked
      await request.continue()
    })
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/ball`)
    await untilMoving(page)
    const countOf = (end: string): number => paths.filter((path) => path.endsWith(end)).length
    expect(countOf('/ball/video')).toBe(1)
    await untilReaders(service, 'ball', 1)

    await page.goto('about:blank')
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/demanded`)
    await page.getByText('Starts with its first reader, or when you play it.').waitFor()
    expect(countOf('/demanded/video')).toBe(0)
    expect((await viewOf(service, 'demanded')).runtime.phase).toBe('idle')
    expectQuiet()
  })

  it('is asked for with the token of the login before any script has come, and ends when no script comes', async () => {
    const password = 'correct horse battery'
    const protectedService = await startService({ env: { SVC_PASSWORD: password } })
    const { body } = await protectedService.request('POST', '/svc/auth/login', { password })
    const { token } = body as { token: string }
    const authorization = `Bearer ${token}`
    expect(
      (await protectedService.request('POST', '/svc/pipeline', { id: 'ball', mode: 'simple', ...BALL }, { authorization })).status,
    ).toBe(201)
    const readers = async () =>
      (await protectedService.request('GET', '/svc/pipeline/ball', undefined, { authorization })).body.runtime.readers as number
    const { page } = await chromium.open()
    await page.goto(`${protectedService.url}/svc/dashboard/`)
    await page.evaluate((value) => sessionStorage.setItem('token', value), token)
    await page.goto('about:blank')
    await page.route('**/*.js', (request) => request.abort())
    await page.goto(`${protectedService.url}/svc/dashboard/#/pipeline/ball`)
    await until(readers, (count) => count === 1)
    await until(readers, (count) => count === 0)
    await page.unroute('**/*.js')
    await page.reload()
    await untilMoving(page)
    // A page that takes longer than the first answer waits asks again.
    await until(readers, (count) => count === 1)
  })

  it('is played by WebRTC over plain http from another host, in one session that ends with the page', async () => {
    await createPipeline(service, 'ball', BALL)
    const elsewhere = service.url.replace('127.0.0.1', 'cam.test')
    const { page, expectQuiet } = await show('ball', elsewhere)
    const paths: string[] = []
    page.on('request', (request) => paths.push(`${request.method()} ${new URL(request.url()).pathname}`))
    await page.getByText('Played by WebRTC, because browsers decode at once only over https').waitFor()
    await untilMoving(page)
    await page.getByText('H.264 320×180').waitFor()
    await page.getByText(/^\d+ ms from data to picture$/).waitFor()
    await untilReaders(service, 'ball', 1)
    // A test does not see what a page sends when it is left.
    const ends = () =>
      service.log.flatMap((line) => (line.includes('"method":"DELETE"') ? (/whep.*"status":(\d+)/.exec(line)?.slice(1) ?? []) : []))
    await page.getByRole('link', { name: 'All pipelines' }).click()
    await expect.poll(ends).toEqual(['200'])
    await untilReaders(service, 'ball', 0)
    await page.getByRole('link', { name: 'ball', exact: true }).click()
    await untilMoving(page)
    expectQuiet()
    await page.goto(`${elsewhere}/svc/healthz`)
    // The connection of a page that is gone may have ended the session before.
    await expect.poll(ends).toEqual(['200', expect.stringMatching(/^(?:200|404)$/)])
    await untilReaders(service, 'ball', 0)
    expect(paths.filter((path) => path.endsWith('/ball/video'))).toEqual([])
  })

  it('is played by WebRTC on the page with the picture alone too, and on the wall, where others share one connection', async () => {
    const x264 = (options: string) =>
      `videotestsrc is-live=true pattern=ball ! video/x-raw,format=I420,width=320,height=180,framerate=15/1 ! x264enc speed-preset=ultrafast key-int-max=15 ${options} ! video/x-h264,profile=main ! rtph264pay name=pay0 config-interval=-1`
    await Promise.all([
      createPipeline(service, 'ball', BALL),
      createPipeline(service, 'roof', BALL),
      // No player by WebRTC takes it.
      createPipeline(service, 'late', { raw_pipeline: x264('bframes=2 b-adapt=false') }),
    ])
    const elsewhere = service.url.replace('127.0.0.1', 'cam.test')
    const { page, expectQuiet } = await chromium.open()
    const asked: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (/\/(?:video|whep)$/.test(pathname)) asked.push(`${request.method()} ${pathname}${search}`)
    })
    await page.goto(`${elsewhere}/svc/dashboard/#/watch/ball`)
    await untilMoving(page)
    expect(asked).toEqual(['POST /svc/pipeline/ball/whep?wait=0'])

    await page.goto(`${elsewhere}/svc/dashboard/#/wall`)
    await page.getByText('Played by WebRTC, because browsers decode at once only over https').waitFor()
    await page.getByText(/^Played with a short buffer \(Media Source\), because .* and WebRTC is refused: The video has B-frames/).waitFor()
    for (const id of ['ball', 'roof', 'late']) {
      await untilMoving(page, undefined, `.wall-tile:has([href$="/${id}"])`)
      await untilReaders(service, id, 1)
    }
    expect(asked.filter((request) => request.includes('/video'))).toEqual(['GET /svc/video?ids=late'])
    expectQuiet()
    // The others are not begun again.
    const sessions = asked.length
    await command(service, 'roof', 'stop')
    await page.getByRole('link', { name: 'roof' }).waitFor({ state: 'detached' })
    await untilMoving(page, undefined, '.wall-tile:has([href$="/ball"])')
    expect(asked.slice(sessions)).toEqual([])
  })

  it('is played by Media Source where WebRTC is refused, less than 600 ms late, and the page says why', async () => {
    await createPipeline(service, 'ball', BALL)
    const { page, expectQuiet } = await chromium.open()
    const refusal = { error: true, code: 'SERVICE_UNAVAILABLE', message: 'No UDP port.', details: { reason: 'webrtc_port' } }
    await page.route('**/ball/whep*', (route) => route.fulfill({ status: 503, json: refusal }))
    await page.goto(`${service.url.replace('127.0.0.1', 'cam.test')}/svc/dashboard/#/pipeline/ball`)
    await page
      .getByText(/^Played with a short buffer \(Media Source\), because browsers decode at once only over https.* and WebRTC is refused: /)
      .waitFor()
    await untilMoving(page)
    const behind = () =>
      page.evaluate(() => {
        const video = document.querySelector('video')
        return video === null || video.buffered.length === 0 ? 9 : video.buffered.end(video.buffered.length - 1) - video.currentTime
      })
    expect(await until(behind, (seconds) => seconds < 0.6)).toBeLessThan(0.6)
    // There is no navigator.clipboard either.
    await page.getByRole('button', { name: 'Copy the line for RTSP' }).click()
    await page.getByText('Copied', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'All pipelines' }).click()
    await page.getByRole('searchbox').press('Control+V')
    expect(await page.getByRole('searchbox').inputValue()).toMatch(/^rtsp:\/\/cam\.test:\d+\/ball$/)
    expectQuiet()
  })

  it('is one picture a second for H.265, which this browser does not decode', async () => {
    const encoding = { codec: 'h265', bitrate: 300, width: 320, height: 180, fps: 5, quality: 1 }
    await createPipeline(service, 'ball', { ...BALL, encoding })
    const { page, expectQuiet } = await show('ball')
    await page.getByText('One picture a second, because this browser does not decode H.265').waitFor()
    await page.getByRole('img', { name: 'Latest view of ball' }).waitFor()
    await untilMoving(page, 30_000)
    // The stream that was refused is not read any more.
    await untilReaders(service, 'ball', 0)
    expectQuiet()
  })
})

describe('the live picture comes back without a reload', { timeout: 60_000 }, () => {
  it('after its source was away, while readers stay', async () => {
    const source = await openSource(...SIZE)
    const reader = await read(await createPipeline(service, 'cam', { source: { uri: source.url('/h264') } }))
    const { page } = await show('cam')
    await untilMoving(page)
    await markPage(page)
    await source.stop()
    await page.getByText('Reconnecting').first().waitFor()
    await page.getByText(/^The source is away\. (?:Trying again now|Next try in)/).waitFor()
    await page.waitForTimeout(1500)
    const packetsBefore = reader.packets.length
    await openSource('--port', String(source.port), ...SIZE)
    await page.getByText('Live', { exact: true }).waitFor()
    await untilMoving(page)
    expect([await isSamePage(page), sequenceGaps(reader.packets)]).toEqual([true, []])
    expect(reader.packets.length).toBeGreaterThan(packetsBefore)
  })

  it('after the engine was killed, and after the API was replaced', async () => {
    const dataDir = temporaryDataDir()
    const SVC_PORT = String(await freePort())
    const first = await startService({ dataDir, env: { SVC_PORT } })
    await createPipeline(first, 'ball', BALL)
    const { page } = await show('ball', first.url)
    await untilMoving(page)
    await markPage(page)
    const engine = first.enginePid()
    killProcess(engine)
    await until(
      () => first.enginePid(),
      (pid) => pid !== engine,
    )
    await untilMoving(page)
    const second = await startService({ dataDir, args: ['--takeover'], env: { SVC_PORT } })
    await untilMoving(page)
    // Events come again too.
    await command(second, 'ball', 'stop')
    await page.getByText('Stopped', { exact: true }).waitFor()
    expect(await isSamePage(page)).toBe(true)
  })

  it('after the network has dropped its connection and told nobody, and says meanwhile that no picture comes', async () => {
    await createPipeline(service, 'ball', BALL)
    const network = await startForgetfulNetwork(Number(new URL(service.url).port))
    const { page } = await chromium.open()
    await page.clock.install()
    await page.goto(`http://127.0.0.1:${network.port}/svc/dashboard/#/pipeline/ball`)
    await untilMoving(page)
    await markPage(page)
    network.forget()
    await page.clock.fastForward(12_000)
    await page.getByText('No new picture comes. Trying again…').waitFor()
    await untilMoving(page)
    expect(await isSamePage(page)).toBe(true)
  })

  it('after the tab was stalled, which delays no reader', async () => {
    const output = await createPipeline(service, 'ball', BALL)
    const { page } = await show('ball')
    await untilMoving(page)
    const reader = await read(output)
    const framesBefore = reader.packets.length
    await page.evaluate(() => {
      const end = performance.now() + 2000
      while (performance.now() < end);
    })
    expect(reader.packets.length - framesBefore).toBeGreaterThan(15)
    expect(sequenceGaps(reader.packets)).toEqual([])
    await untilMoving(page)
  })
})
