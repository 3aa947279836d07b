import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { encodePacket } from '../../../lib/st0601/encode.ts'
import { dashboardOf, useChromium } from '../../helpers/browser/dashboard.ts'
import { startOnvifCamera, USER } from '../../helpers/fakes/onvif-camera.ts'
import { startTsKlvSender } from '../../helpers/klv/ts-sender.ts'
import { startService } from '../../helpers/process/service.ts'
import { changeSettings, command, createPipeline, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const chromium = useChromium()

// A server of tiles that has none.
const asked: string[] = []
const tiles = createServer(({ url = '' }, response) => {
  asked.push(url)
  response.writeHead(404).end()
}).listen(0, '127.0.0.1')
await once(tiles, 'listening')
afterAll(() => void tiles.close())
const service = shareService({ SVC_MAP_TILES: `http://127.0.0.1:${(tiles.address() as AddressInfo).port}/tiles/{z}/{x}/{y}.png` })

const idle = (id: string, more: object = {}) =>
  createPipeline(service, id, { on_demand: true, source: { uri: `rtsp://10.9.8.7/${id}` }, ...more })
const fly = (id: string, size = 'width=320&height=180&fps=10') =>
  createPipeline(service, id, {
    source: { uri: `test://smpte?${size}&klv=1` },
    klv_config: { pass_klv: true, auto_extract_geolocation: true },
  })

describe('the map', () => {
  it('shows where a flight is, its track and what its sensor sees', async () => {
    await fly('drone')
    await idle('mast', { geolocation: { latitude: -27.6, longitude: -48.5 } })
    const { page, button, heading, link, shows, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/map') })
    await button('drone').waitFor()
    await button('mast').waitFor()
    await page.locator('.map-footprint').waitFor()
    // The mast does not move.
    await expect
      .poll(() => page.locator('.map-track').evaluateAll((all) => all.some((one) => one.getAttribute('d')?.includes('L'))))
      .toBe(true)
    await shows(/^27\.\d+° S$/)
    await expectAccessible()
    const backgroundOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => getComputedStyle(element).backgroundColor)
    // The canvas shows where a place is kept for a scroll bar: beside the list, as a strip of another colour.
    expect(await backgroundOf('html')).toBe(await backgroundOf('.map-list'))
    // With the colours of the system the place and the present page must still be seen.
    await page.emulateMedia({ forcedColors: 'active' })
    expect(await backgroundOf('.map-arrow')).not.toBe(await backgroundOf('body'))
    expect(await link('Map').evaluate((element) => getComputedStyle(element).textDecorationLine)).toBe('underline')
    await page.emulateMedia({ forcedColors: 'none' })
    await button('drone').press('Enter')
    await heading('drone').waitFor()
    await shows('Sensor Latitude')
  })

  it('draws a track across the antimeridian, with tiles from the configured server and from no other', async () => {
    await idle('mast', { geolocation: { latitude: 48.1, longitude: 179.99 } })
    const { page, button } = await chromium.open({ at: dashboardOf(service, '#/map') })
    await button('mast').waitFor()
    await service.request('PATCH', '/svc/pipeline/mast', { geolocation: { latitude: 48.1, longitude: -179.99 } })
    const track = page.locator('.map-track')
    await expect.poll(() => track.getAttribute('d')).toContain('L')
    expect((await track.boundingBox())?.width).toBeLessThan(200)
    await expect.poll(() => asked.length).toBeGreaterThan(0)
    expect(asked.filter((path) => !/^\/tiles\/\d+\/\d+\/\d+\.png$/.test(path))).toEqual([])
  })
})

describe('the page of a pipeline', () => {
  it('has its picture over the whole width of a phone in landscape', async () => {
    await idle('gate')
    const { page } = await chromium.open({ at: dashboardOf(service, '#/pipeline/gate'), width: 640, height: 360 })
    const { x, width, height } = (await page.locator('.player').boundingBox()) ?? {}
    expect([x, width]).toEqual([0, 640])
    expect(height).toBeLessThan(360)
  })

  it('has addresses with a place for the password of readers, and a log that begins at its newest line', async () => {
    await idle('gate')
    await changeSettings(service, { readers: { authentication: 'password', username: 'o (b)', password: 'correct horse' } })
    const { page, shows, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/pipeline/gate') })
    await shows(/^rtsp:\/\/o%20%28b%29:PASSWORD@127\.0\.0\.1:\d+\/gate$/)
    await shows('in place of PASSWORD')
    await shows(/^vlc 'http.*stream\.ts'$/)
    const lines = Array.from({ length: 100 }, (_, at) => ({ at: '2026-01-02T03:04:05.000Z', run: 1, stream: 'stdout', line: `line ${at}` }))
    await page.route(/\/log\?/, (route) => route.fulfill({ json: lines }))
    await page.getByText('Log', { exact: true }).click()
    const newest = page.getByText('line 99')
    await newest.waitFor()
    const isShown = () =>
      newest.evaluate((line) => line.getBoundingClientRect().bottom <= (line.closest('ol')?.getBoundingClientRect().bottom ?? 0))
    await expect.poll(isShown).toBe(true)
    // It is of another day.
    expect(await page.getByRole('list', { name: 'Lines of the log' }).innerText()).toContain('2026')
    await expectAccessible()
    expectQuiet()
  })

  it('shows as many KLV values as it says, and their texts as text', async () => {
    const mission = `<img src=x onerror="document.title='run'">${'A'.repeat(80)}`
    const hidden = [
      [14, null],
      [73, Uint8Array.of(1)],
      [200, Uint8Array.of(1)],
    ] as const
    const sender = await startTsKlvSender({
      synchronous: false,
      klv: () => encodePacket([[2, Date.now() * 1000], [13, 60.1], [3, mission], ...hidden]),
    })
    onTestFinished(() => sender.stop())
    await createPipeline(service, 'uav', { source: { uri: sender.uri }, klv_config: { auto_extract_geolocation: true } })
    const { page, button, expectQuiet } = await chromium.open({ at: dashboardOf(service, '#/pipeline/uav'), width: 360, height: 740 })
    await button('Show all 4 values').click()
    const panel = page.getByRole('region', { name: 'KLV metadata' })
    await panel.getByText(mission).waitFor()
    expect(await panel.getByRole('term').allTextContents()).toEqual(['Precision Time Stamp', 'Sensor Latitude', 'Mission ID', 'Checksum'])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expectQuiet()
  })

  it('shows the KLV values of the frame that is shown, and none between two polls alone', async () => {
    let frames = 0
    const klv = () =>
      encodePacket([
        [2, Date.now() * 1000],
        [3, `frame ${frames++}`],
      ])
    const sender = await startTsKlvSender({ synchronous: true, klv })
    onTestFinished(() => sender.stop())
    await createPipeline(service, 'each', { source: { uri: sender.uri }, klv_config: { auto_extract_geolocation: true } })
    const { page, button, expectQuiet } = await chromium.open({ at: dashboardOf(service, '#/pipeline/each') })
    await button('Show all 3 values').click()
    const mission = page.getByRole('region', { name: 'KLV metadata' }).getByText(/^frame \d+/)
    await mission.waitFor()
    // Ten come a second; a poll would have two.
    const seen = new Set<string | null>()
    const first = Number((await mission.textContent())?.slice(6))
    const latest = async (): Promise<number> => {
      const text = await mission.textContent()
      seen.add(text)
      return Number(text?.slice(6))
    }
    await expect.poll(latest, { interval: 20 }).toBeGreaterThan(first + 20)
    expect(seen.size).toBeGreaterThan(10)
    expectQuiet()
  })

  it('shows times by the clock of the service, when the clock of the browser is a day ahead', async () => {
    await createPipeline(service, 'gate')
    const before = () => {
      const real = Date.now
      Date.now = () => real() + 86_400_000
    }
    const { page, expectQuiet } = await chromium.open({ at: dashboardOf(service, '#/pipeline/gate'), before })
    const lives = page.locator('.facts > div').filter({ hasText: 'Live for' })
    await expect.poll(() => lives.textContent()).toMatch(/^Live for\d+ s$/)
    expectQuiet()
  })
})

describe('the logs', () => {
  it('have what happened to all pipelines, the newest first, and find a text as it is typed', async () => {
    const source = { uri: 'test://ball?width=160&height=120&fps=10' }
    for (const id of ['north', 'south']) await createPipeline(service, id, { source })
    const { page, shows, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/log') })
    await shows('phase: playing')
    await command(service, 'south', 'stop')
    // Without a reload.
    await shows('phase: idle')
    const lines = page.getByRole('list', { name: 'Lines of all pipelines' })
    expect((await lines.getByRole('listitem').first().innerText()).split('\n').at(-1)).toBe('phase: idle')
    await page.getByRole('searchbox').fill('SOUTH')
    await expect.poll(async () => [...new Set(await lines.getByRole('link').allInnerTexts())]).toEqual(['south'])
    await page.getByRole('radio', { name: 'What happened' }).check()
    await page.getByRole('searchbox').fill('in no line')
    await shows(/^0 lines/)
    await page.getByRole('searchbox').fill('playing')
    await shows('phase: playing')
    await expectAccessible()
    const loaded = page.waitForResponse(/north\/history$/)
    await lines.getByRole('link', { name: 'north' }).click()
    expect((await loaded).status()).toBe(200)
    await shows('Last hour')
    expectQuiet()
  })
})

describe('the cameras', () => {
  it('in the network show their streams to who has the password, and become pipelines with it', async () => {
    const camera = await startOnvifCamera()
    onTestFinished(() => camera.close())
    const { page, button, field, shows, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/cameras') })
    await field('Address of a camera elsewhere').fill(`127.0.0.1:${camera.port}`)
    await button('Add').click()
    const panel = page.getByRole('region', { name: `127.0.0.1:${camera.port}` })
    await panel.getByRole('textbox', { name: 'User' }).fill(USER.user)
    await panel.getByRole('textbox', { name: 'Password' }).fill('wrong')
    await button('Show streams').click()
    await shows(/refuses the user name or password/)
    await panel.getByRole('textbox', { name: 'Password' }).fill(USER.password)
    await button('Show streams').click()
    await shows('H265 · 2560×1440 · 25 fps · 4.1 Mbit/s · sound AAC')
    await expectAccessible()
    // Nothing sends video there.
    const created = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/svc/pipeline'))
    await page.route(/\/svc\/pipeline$/, (route) =>
      route.request().method() === 'POST' ? route.fulfill({ status: 409, json: {} }) : route.continue(),
    )
    await button('Create and play main').click()
    expect((await created).postDataJSON()).toEqual({
      id: expect.stringMatching(/^127-0-0-1-\d+-main$/),
      mode: 'simple',
      source: { uri: 'rtsp://viewer:p%3Cw%3E%26%22d@127.0.0.1:554/p%261?a=1&b=2' },
    })
  })
})

describe('a page that is left open', () => {
  it('leaves the few connections of a browser to the window in use, and stays up to date all the same', async () => {
    await fly('drone', 'width=160&height=90&fps=5')
    const { page, context } = await chromium.open()
    const windows = [page, await context.newPage(), await context.newPage()]
    // Here every window has the focus.
    for (const behind of windows.slice(1)) await behind.addInitScript('document.hasFocus = () => false')
    for (const one of windows) {
      await one.goto(dashboardOf(service, '#/pipeline/drone'))
      await one.getByText(/^Packet of/).waitFor()
      await one.getByText('from data to picture').waitFor()
    }
    const last = windows.at(-1) as Page
    const connecting = last.getByText('Connecting to the service')
    await context.setOffline(true)
    await connecting.waitFor()
    await context.setOffline(false)
    await connecting.waitFor({ state: 'hidden' })
    await last.getByRole('button', { name: 'Stop', exact: true }).click()
    for (const one of windows) await one.getByText('Stopped', { exact: true }).waitFor()
    expect((await viewOf(service, 'drone')).state).toBe('ready')
  }, 90_000)

  it('says that it has no connection when nothing answers, though none was closed', async () => {
    await idle('idle')
    const { page, link } = await chromium.open()
    await page.clock.install()
    await page.goto(dashboardOf(service))
    await link('idle').waitFor()
    const unanswered = page.waitForRequest(/\/svc\/pipeline$/)
    await page.route(/\/svc\/pipeline$/, () => {})
    await unanswered
    await page.clock.fastForward(20_000)
    const connecting = page.getByText('Connecting to the service')
    await connecting.waitFor()
    await page.unrouteAll()
    await connecting.waitFor({ state: 'hidden' })
    expect(await link('idle').count()).toBe(1)
  })

  it('says so when the service has another version, and when a part of it cannot be loaded', async () => {
    const first = await startService()
    await createPipeline(first, 'idle', { on_demand: true, geolocation: { latitude: 1, longitude: 2 } })
    const { page, button, shows } = await chromium.open()
    await page.route(/map-[A-Z0-9]+\.js$/, (route) => route.fulfill({ status: 404, body: '' }))
    await page.goto(dashboardOf(first, '#/map'))
    await shows('A part of this page could not be loaded.')
    await page.unroute(/map-[A-Z0-9]+\.js$/)
    await button('Reload the page').click()
    await button('idle').waitFor()
    expect(await page.getByText('A part of this page could not be loaded.').count()).toBe(0)

    await page.route(/\/svc\/dashboard\/$/, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, body: (await answer.text()).replace(/main-[A-Z0-9]+\.js/, 'main-NEXTNEXT.js') })
    })
    await first.kill()
    await shows('Connecting to the service')
    await startService({ dataDir: first.dataDir, env: { SVC_PORT: new URL(first.url).port } })
    await shows('The service has another version now')
    expect(await button('idle').count()).toBe(1)
  })
})
