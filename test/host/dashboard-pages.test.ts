import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { useChromium } from '../helpers/browser/dashboard.ts'
import { untilMoving } from '../helpers/browser/live-picture.ts'
import { startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const chromium = useChromium()
const FLIGHT = {
  id: 'drone',
  mode: 'simple',
  source: { uri: 'test://smpte?width=320&height=180&fps=10&klv=1' },
  klv_config: { pass_klv: true, auto_extract_geolocation: true },
}
const idle = (id: string, more: object = {}) => ({
  id,
  mode: 'simple',
  on_demand: true,
  source: { uri: `rtsp://u:secret@10.9.8.7/${id}` },
  ...more,
})

describe('the map', () => {
  it('shows where a flight is, its track and what its sensor sees, without any other host', async () => {
    const service = await startService()
    expect((await service.request('POST', '/svc/pipeline', FLIGHT)).status).toBe(201)
    await service.request('POST', '/svc/pipeline', idle('mast', { geolocation: { latitude: -27.6, longitude: -48.5 } }))
    const { page, expectQuiet, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/map`)
    const drone = page.getByRole('button', { name: 'drone' })
    await drone.waitFor()
    await page.getByRole('button', { name: 'mast' }).waitFor()
    await page.locator('.map-footprint').waitFor()
    await until(
      () => page.locator('.map-track').evaluateAll((tracks) => tracks.map((track) => track.getAttribute('d') ?? '')),
      // The mast does not move.
      (paths) => paths.some((path) => path.includes('L')),
    )
    await page
      .getByText(/^27\.\d+° S$/)
      .first()
      .waitFor()
    await expectAccessible()
    expectQuiet()
    // The canvas shows where a place is kept for a scroll bar: beside the list, as a strip of another colour.
    const [canvas, listed] = await Promise.all(
      ['html', '.map-list'].map((name) => page.locator(name).evaluate((found) => getComputedStyle(found).backgroundColor)),
    )
    expect(canvas).toBe(listed)
    // With the colours of the system the place and the present page must still be seen.
    await page.emulateMedia({ forcedColors: 'active' })
    const colorOf = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((element) => getComputedStyle(element).backgroundColor)
    expect(await colorOf('.map-arrow')).not.toBe(await colorOf('body'))
    expect(await page.getByRole('link', { name: 'Map' }).evaluate((link) => getComputedStyle(link).textDecorationLine)).toBe('underline')
    await page.emulateMedia({ forcedColors: 'none' })
    await drone.press('Enter')
    await page.getByRole('heading', { name: 'drone', exact: true }).waitFor()
    await page.getByText('Sensor Latitude').waitFor()
    await service.stop()
  }, 60_000)

  it('goes on across the antimeridian, with tiles from the configured server and from no other', async () => {
    const paths: string[] = []
    const tiles = createServer((request, response) => {
      paths.push(request.url ?? '')
      response.writeHead(404).end()
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void tiles.close())
    await new Promise((resolve) => tiles.once('listening', resolve))
    const host = `http://127.0.0.1:${(tiles.address() as AddressInfo).port}`
    const service = await startService({ env: { SVC_MAP_TILES: `${host}/tiles/{z}/{x}/{y}.png` } })
    await service.request('POST', '/svc/pipeline', idle('mast', { geolocation: { latitude: 48.1, longitude: 179.99 } }))
    const { page } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/map`)
    await page.getByRole('button', { name: 'mast' }).waitFor()
    await until(
      () => paths,
      (asked) => asked.length > 0,
    )
    await service.request('PATCH', '/svc/pipeline/mast', { geolocation: { latitude: 48.1, longitude: -179.99 } })
    const track = page.locator('.map-track')
    await until(
      () => track.getAttribute('d'),
      (path) => path?.includes('L') === true,
    )
    expect((await track.boundingBox())?.width).toBeLessThan(200)
    expect(paths.filter((path) => !/^\/tiles\/\d+\/\d+\/\d+\.png$/.test(path))).toEqual([])
    await service.stop()
  }, 60_000)
})

describe('the forms', () => {
  it('say beside each field what is wrong with it, while somebody types', async () => {
    const service = await startService()
    const { page, expectQuiet, expectAccessible } = await chromium.open({ width: 360, height: 740 })
    await page.goto(`${service.url}/svc/dashboard/#/new`)
    await page.getByRole('textbox', { name: 'Name' }).fill('two words')
    const source = page.getByRole('textbox', { name: 'Source' })
    await source.fill('gopher://10.0.0.5/x')
    await source.blur()
    await page.getByText(/^Use an address that starts with one of: rtsp/).waitFor()
    expect(await source.getAttribute('aria-invalid')).toBe('true')
    await page.getByRole('button', { name: 'Create and play' }).click()
    await page.getByText('Use letters, digits, dash and underscore only').waitFor()
    // The first field that is wrong has the focus.
    await until(
      () => page.getByRole('textbox', { name: 'Name' }).evaluate((field) => field === document.activeElement),
      (isFocused) => isFocused,
    )
    await expectAccessible()

    await page.getByRole('radio', { name: 'Advanced' }).check()
    await page.getByRole('textbox', { name: 'Name' }).fill('own')
    await page.getByRole('textbox', { name: 'Description' }).fill('videotestsrc ! nosuchelement')
    await page
      .getByText(/no element "nosuchelement"/)
      .first()
      .waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('change a pipeline, keep its credentials, and notice when somebody else was first', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', idle('cam'))
    const { page } = await chromium.open()
    const edit = async (latency: string): Promise<void> => {
      await page.goto(`${service.url}/svc/dashboard/#/pipeline/cam`)
      await page.getByRole('link', { name: 'Edit' }).click()
      await page.getByRole('textbox', { name: 'Jitter buffer (ms)' }).fill(latency)
    }
    await edit('350')
    await page.getByText('Position, address and receivers').click()
    const receivers = page.getByRole('textbox', { name: 'Send to' })
    await receivers.fill('srt://10.9.8.7:9000?passphrase=correct-horse  udp://239.7.7.7:5600')
    expect(await page.getByRole('textbox', { name: 'Source' }).inputValue()).not.toContain('secret')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Edit' }).waitFor()
    expect((await service.request('GET', '/svc/pipeline/cam')).body).toMatchObject({
      source: { latency_ms: 350 },
      push: [{ uri: 'srt://10.9.8.7:9000?passphrase=***' }, { uri: 'udp://239.7.7.7:5600' }],
    })
    const receiver = page.getByRole('listitem').filter({ hasText: 'udp://239.7.7.7:5600' })
    await receiver.getByText('Starts with the pipeline').waitFor()
    // Nothing is wrong with credentials that are masked.
    await page.getByText('GStreamer line').click()
    await page.getByRole('button', { name: 'Copy the line for gst-launch' }).waitFor()

    const checked = page.waitForResponse('**/pipeline/validate')
    await edit('400')
    expect((await checked).status()).toBe(200)
    expect(await receivers.inputValue()).toBe('srt://10.9.8.7:9000?passphrase=***\nudp://239.7.7.7:5600')
    await service.request('PUT', '/svc/pipeline/cam', idle('cam', { on_demand: true, source: { uri: 'rtsp://10.9.8.7/other' } }))
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').filter({ hasText: 'This pipeline has been changed elsewhere' }).waitFor()
    expect((await service.request('GET', '/svc/pipeline/cam')).body.source).toMatchObject({ uri: 'rtsp://10.9.8.7/other' })
    // Whoever begins anew sees what it is now, and can save.
    await page.goBack()
    await page.goForward()
    await page.getByRole('button', { name: 'Discard it' }).click()
    await expect.poll(() => page.getByRole('textbox', { name: 'Source' }).inputValue()).toBe('rtsp://10.9.8.7/other')
    await page.getByRole('textbox', { name: 'Jitter buffer (ms)' }).fill('450')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'Edit' }).waitFor()
    expect((await service.request('GET', '/svc/pipeline/cam')).body.source.latency_ms).toBe(450)
    await service.stop()
  }, 60_000)
})

describe('a card', () => {
  it('is live while the focus is on it, and reads nothing otherwise', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', { ...FLIGHT, id: 'ball', source: { uri: 'test://ball?width=320&height=180&fps=15' } })
    const readers = async () => (await service.request('GET', '/svc/pipeline/ball')).body.runtime.readers as number
    const { page, expectQuiet } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/`)
    await page.getByRole('img', { name: 'Preview of ball' }).waitFor()
    expect(await readers()).toBe(0)
    await page.getByRole('link', { name: 'ball' }).focus()
    await untilMoving(page)
    expect(await readers()).toBe(1)
    await page.getByRole('searchbox').focus()
    await until(readers, (count) => count === 0)
    expectQuiet()
    await service.stop()
  }, 60_000)
})

describe('the page of a pipeline', () => {
  it('has its picture over the whole width of a phone that lies on its side', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', idle('gate'))
    const { page } = await chromium.open({ width: 640, height: 360 })
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/gate`)
    const { x, width, height } = (await page.locator('.player').boundingBox()) ?? {}
    expect([x, width]).toEqual([0, 640])
    expect(height).toBeLessThan(360)
    await service.stop()
  }, 60_000)

  it('has addresses with a place for the password of readers, and a log that begins at its newest line', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', idle('gate'))
    await service.request('PUT', '/svc/settings', { readers: { authentication: 'password', username: 'o (b)', password: 'correct horse' } })
    const { page, expectQuiet, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/gate`)
    await page.getByText(/^rtsp:\/\/o%20%28b%29:PASSWORD@127\.0\.0\.1:\d+\/gate$/).waitFor()
    await page.getByText('in place of PASSWORD').waitFor()
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
    await service.stop()
  }, 60_000)
})
