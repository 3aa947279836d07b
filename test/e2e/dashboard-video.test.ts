import type { Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useChromium } from '../helpers/browser/dashboard.ts'
import { startForgetfulNetwork } from '../helpers/browser/forgetful-network.ts'
import { untilMoving } from '../helpers/browser/live-picture.ts'
import { freePort } from '../helpers/ports.ts'
import { killProcess } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'
import { until } from '../helpers/until.ts'

// A name of another host: browsers give pages of plain http no WebCodecs there.
const chromium = useChromium(['--host-resolver-rules=MAP cam.test 127.0.0.1'])
const BALL = { id: 'ball', mode: 'simple', source: { uri: 'test://ball?width=320&height=180&fps=15' } }

const create = async (service: Service, body: Record<string, unknown>): Promise<string> => {
  const answer = await service.request('POST', '/svc/pipeline', body)
  expect([answer.status, answer.body.message]).toEqual([201, undefined])
  return answer.body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

const markPage = (page: Page) => page.evaluate(() => Object.assign(window, { isSame: true }))
const isSamePage = (page: Page) => page.evaluate(() => 'isSame' in window)

/** A page that takes longer than its first answer waits asks again: for a moment there are two. */
const untilOneReader = (service: Service): Promise<unknown> =>
  until(
    async () => (await service.request('GET', '/svc/pipeline/ball')).body.runtime.readers,
    (readers) => readers === 1,
  )

describe('the live picture in Chromium', () => {
  it('is decoded at once where the browser can, says how late it is, and takes screenshots', async () => {
    const service = await startService()
    await create(service, BALL)
    const { page, expectQuiet, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/ball`)
    await page.getByRole('img', { name: 'Live picture of ball' }).waitFor()
    await untilMoving(page)
    await page.getByText('Decoded at once (WebCodecs)').waitFor()
    await page.getByText(/^\d+ ms from data to picture$/).waitFor()
    await page.getByText('H.264 320×180').waitFor()
    await untilOneReader(service)

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
    await service.stop()
  }, 60_000)

  it('is a picture a second of a stream without key frames at which the browser can begin', async () => {
    const service = await startService()
    const encoder = 'x264enc intra-refresh=true tune=zerolatency speed-preset=ultrafast key-int-max=15'
    const raw_pipeline = `videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=180,framerate=15/1 ! ${encoder} ! rtph264pay name=pay0 config-interval=-1`
    await create(service, { id: 'refreshed', mode: 'advanced', raw_pipeline })
    // The first picture of an encoder is an IDR.
    await until(
      async () => (await service.request('GET', '/svc/pipeline/refreshed')).body.runtime.frames as number,
      (frames) => frames > 60,
    )
    const { page, expectQuiet } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/refreshed`)
    await page.getByText(/^One picture a second, because the decoder of this browser refuses/).waitFor({ timeout: 30_000 })
    await untilMoving(page)
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('is asked for before the page is drawn, but never of an on-demand pipeline that nobody reads', async () => {
    const service = await startService()
    await create(service, BALL)
    await create(service, { ...BALL, id: 'demanded', on_demand: true })
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
    await untilOneReader(service)

    await page.goto('about:blank')
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/demanded`)
    await page.getByText('Starts with its first reader, or when you play it.').waitFor()
    expect(countOf('/demanded/video')).toBe(0)
    expect((await service.request('GET', '/svc/pipeline/demanded')).body.runtime.phase).toBe('idle')
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('is asked for with the token of the login before any script has come, and ends when no script comes', async () => {
    const password = 'correct horse battery'
    const service = await startService({ env: { SVC_PASSWORD: password } })
    const { body } = await service.request('POST', '/svc/auth/login', { password })
    const { token } = body as { token: string }
    const authorization = `Bearer ${token}`
    expect((await service.request('POST', '/svc/pipeline', BALL, { authorization })).status).toBe(201)
    const readers = async () =>
      (await service.request('GET', '/svc/pipeline/ball', undefined, { authorization })).body.runtime.readers as number
    const { page } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/`)
    await page.evaluate((value) => sessionStorage.setItem('token', value), token)
    await page.goto('about:blank')
    await page.route('**/*.js', (request) => request.abort())
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/ball`)
    await until(readers, (count) => count === 1)
    await until(readers, (count) => count === 0)
    await page.unroute('**/*.js')
    await page.reload()
    await untilMoving(page)
    // A page that takes longer than the first answer waits asks again.
    await until(readers, (count) => count === 1)
    await service.stop()
  }, 60_000)

  it('is played by Media Source over plain http from another host, less than 600 ms late, and the page says why', async () => {
    const service = await startService({ env: { SVC_ALLOWED_HOSTS: 'cam.test' } })
    await create(service, BALL)
    const { page, expectQuiet } = await chromium.open()
    await page.goto(`${service.url.replace('127.0.0.1', 'cam.test')}/svc/dashboard/#/pipeline/ball`)
    await page.getByText('Played with a short buffer (Media Source), because browsers decode at once only over https').waitFor()
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
    await service.stop()
  }, 60_000)

  it('is one picture a second for H.265, which this browser does not decode', async () => {
    const service = await startService()
    const encoding = { codec: 'h265', bitrate: 300, width: 320, height: 180, fps: 5, quality: 1 }
    await create(service, { ...BALL, encoding })
    const { page, expectQuiet } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/ball`)
    await page.getByText('One picture a second, because this browser does not decode H.265').waitFor()
    await page.getByRole('img', { name: 'Latest view of ball' }).waitFor()
    await untilMoving(page, 30_000)
    // The stream that was refused is not read any more.
    await until(
      async () => (await service.request('GET', '/svc/pipeline/ball')).body.runtime.readers,
      (readers) => readers === 0,
    )
    expectQuiet()
    await service.stop()
  }, 60_000)
})

describe('the live picture comes back without a reload', () => {
  it('after its source was away for five seconds, while readers stay', async () => {
    const source = await startRtspSource(['--width', '320', '--height', '240', '--gop-seconds', '0.5'])
    onTestFinished(() => source.stop())
    const service = await startService()
    const output = await create(service, { id: 'cam', mode: 'simple', source: { uri: source.url('/h264') } })
    const reader = await openReader(output)
    onTestFinished(() => reader.close())
    const { page } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/cam`)
    await untilMoving(page)
    await markPage(page)
    await source.stop()
    await page.getByText('Reconnecting').first().waitFor()
    await page.getByText('The source is away. The picture comes back by itself.').waitFor()
    await page.waitForTimeout(5000)
    const packetsBefore = reader.packets.length
    const again = await startRtspSource(['--port', String(source.port), '--width', '320', '--height', '240', '--gop-seconds', '0.5'])
    onTestFinished(() => again.stop())
    await page.getByText('Live', { exact: true }).waitFor()
    await untilMoving(page)
    expect([await isSamePage(page), sequenceGaps(reader.packets)]).toEqual([true, []])
    expect(reader.packets.length).toBeGreaterThan(packetsBefore)
    await service.stop()
  }, 60_000)

  it('after the engine was killed, and after the API was replaced', async () => {
    const dataDir = temporaryDataDir()
    const SVC_PORT = String(await freePort())
    const first = await startService({ dataDir, env: { SVC_PORT } })
    await create(first, BALL)
    const { page } = await chromium.open()
    await page.goto(`${first.url}/svc/dashboard/#/pipeline/ball`)
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
    await second.request('PUT', '/svc/pipeline/ball/stop')
    await page.getByText('Stopped', { exact: true }).waitFor()
    expect(await isSamePage(page)).toBe(true)
    await second.stop()
  }, 60_000)

  it('after the network has dropped its connection and told nobody, and says meanwhile that no picture comes', async () => {
    const service = await startService()
    await create(service, BALL)
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
    await service.stop()
  }, 60_000)

  it('after the tab was stalled, which delays no reader', async () => {
    const service = await startService()
    const output = await create(service, BALL)
    const { page } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/ball`)
    await untilMoving(page)
    const reader = await openReader(output)
    onTestFinished(() => reader.close())
    const framesBefore = reader.packets.length
    await page.evaluate(() => {
      const end = performance.now() + 4000
      while (performance.now() < end);
    })
    expect(reader.packets.length - framesBefore).toBeGreaterThan(30)
    expect(sequenceGaps(reader.packets)).toEqual([])
    await untilMoving(page)
    await service.stop()
  }, 60_000)
})
