import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Locator } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { encodePacket } from '../../engine/klv/st0601/encode.ts'
import { useChromium } from '../helpers/browser/dashboard.ts'
import { startTsKlvSender } from '../helpers/klv/ts-sender.ts'
import { startService } from '../helpers/process/service.ts'

const chromium = useChromium(['--host-resolver-rules=MAP cam.test 127.0.0.1'])
const FOLDER = resolve(import.meta.dirname, '../../dist/dashboard')
const BALL = { id: 'ball', mode: 'simple', source: { uri: 'test://ball?width=320&height=180&fps=15' } }
const onDemand = (id: string) => ({ id, mode: 'simple', on_demand: true, source: { uri: `rtsp://10.9.8.7/${id}` } })

describe('the files of the dashboard', () => {
  it('are small: under 150 kB without the map, as they are sent', () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.br') && !/^(map|leaflet)/.test(name))
    expect(files.length).toBeGreaterThan(3)
    const bytes = files.reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0)
    expect(bytes).toBeLessThan(150_000)
  })

  it('name no other host but in comments and namespaces', () => {
    for (const name of readdirSync(FOLDER).filter((file) => /\.(js|css|html)$/.test(file))) {
      const hosts = [...readFileSync(join(FOLDER, name), 'utf8').matchAll(/https?:\/\/([a-z0-9.-]+)/g)].map(([, host]) => host)
      const known = ['www.w3.org', 'leafletjs.com', 'tiles.example.org']
      expect([name, hosts.filter((host) => !known.includes(String(host)))]).toEqual([name, []])
    }
  })

  it('are not served when the dashboard is turned off', async () => {
    const service = await startService({ env: { SVC_DASHBOARD: '0' } })
    for (const path of ['/', '/svc/dashboard/']) expect([path, (await service.request('GET', path)).status]).toEqual([path, 404])
    await service.stop()
  })
})

describe('the dashboard in Chromium', () => {
  it('says what to do first, creates the first pipeline, and plays, stops and deletes it', async () => {
    const service = await startService()
    const { page, expectQuiet, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/`)
    expect(new URL(page.url()).pathname).toBe('/svc/dashboard/')
    await page.getByRole('heading', { name: 'See your first stream' }).waitFor()
    await expectAccessible()

    await page.getByRole('link', { name: 'New pipeline' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('gate')
    await page.getByRole('textbox', { name: 'Source' }).fill(BALL.source.uri)
    await expectAccessible()
    await page.getByRole('button', { name: 'Create and play' }).click()
    await page.getByRole('heading', { name: 'gate' }).waitFor()
    expect((await service.request('GET', '/svc/pipeline/gate')).body.state).toBe('playing')

    const [play, stop] = ['Play', 'Stop'].map((name) => page.getByRole('button', { name, exact: true })) as [Locator, Locator]
    const hasFocus = (button: Locator) => button.evaluate((element) => element === document.activeElement)
    await stop.press('Enter')
    await play.waitFor()
    await expect.poll(() => hasFocus(play)).toBe(true)
    expect((await service.request('GET', '/svc/pipeline/gate')).body.state).toBe('ready')
    await expectAccessible()
    await play.press('Enter')
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => hasFocus(stop)).toBe(true)
    expect((await service.request('GET', '/svc/pipeline/gate')).body.state).toBe('playing')

    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete pipeline' }).click()
    await page.getByRole('heading', { name: 'See your first stream' }).waitFor()
    expect((await service.request('GET', '/svc/pipeline/gate')).status).toBe(404)
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('shows each change within a second, without a reload', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', onDemand('one'))
    const { page, expectQuiet, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/`)
    const heading = (name: string) => page.getByRole('heading', { name, exact: true })
    await heading('one').waitFor()
    await page.evaluate(() => Object.assign(window, { isSame: true }))
    const shows = async (change: () => Promise<unknown>, seen: () => Promise<unknown>): Promise<number> => {
      await change()
      const began = performance.now()
      await seen()
      return performance.now() - began
    }
    const delays = [
      await shows(
        () => service.request('POST', '/svc/pipeline', BALL),
        () => heading('ball').waitFor(),
      ),
      await shows(
        () => service.request('PUT', '/svc/pipeline/ball/stop'),
        () => page.getByRole('listitem').filter({ hasText: 'ball' }).getByText('Stopped').waitFor(),
      ),
      await shows(
        () => service.request('DELETE', '/svc/pipeline/one'),
        () => heading('one').waitFor({ state: 'detached' }),
      ),
    ]
    expect(delays.filter((delay) => delay > 1000)).toEqual([])
    expect(await page.evaluate(() => 'isSame' in window)).toBe(true)
    await expectAccessible()
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('has room for the longest name on a phone', async () => {
    const service = await startService()
    const id = 'W'.repeat(64)
    await service.request('POST', '/svc/pipeline', { ...onDemand(id), geolocation: { latitude: 1, longitude: 2 } })
    const { page, expectQuiet } = await chromium.open({ width: 360, height: 740 })
    const expectToFit = async () => expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    await page.goto(`${service.url}/svc/dashboard/`)
    await page.getByRole('heading', { name: id }).waitFor()
    await expectToFit()
    await page.goto(`${service.url}/svc/dashboard/#/map`)
    await page.getByRole('button', { name: id }).waitFor()
    await expectToFit()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/${id}`)
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('heading', { name: `Edit ${id}` }).waitFor()
    await expectToFit()
    await page.goBack()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').waitFor()
    await expectToFit()
    expect(await page.getByRole('dialog').evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('finds pipelines by name, source and state', async () => {
    const service = await startService()
    for (const id of ['north-gate', 'south-gate', 'roof']) await service.request('POST', '/svc/pipeline', onDemand(id))
    const { page, expectQuiet } = await chromium.open({ width: 360, height: 740, dark: true })
    await page.goto(`${service.url}/svc/dashboard/`)
    const shown = () => page.getByRole('heading', { level: 2 }).allTextContents()
    await page.getByRole('heading', { name: 'roof' }).waitFor()
    expect(await shown()).toEqual(['north-gate', 'roof', 'south-gate'])
    await page.getByRole('searchbox', { name: 'Search by name or source' }).fill('GATE')
    expect(await shown()).toEqual(['north-gate', 'south-gate'])
    await page.getByRole('searchbox').fill('10.9.8.7/roof')
    expect(await shown()).toEqual(['roof'])
    await page.getByRole('radio', { name: /^Live/ }).check()
    await page.getByText('No pipeline matches.').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    expect(await shown()).toHaveLength(3)
    // Nothing is wider than a phone.
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('shows as many KLV values as it says, and their texts as text', async () => {
    const mission = `<img src=x onerror="document.title='run'">${'A'.repeat(80)}`
    const nothingToShow = [
      [14, null],
      [73, Uint8Array.of(1)],
      [200, Uint8Array.of(1)],
    ] as const
    const sender = await startTsKlvSender({
      synchronous: false,
      klv: () => encodePacket([[2, Date.now() * 1000], [13, 60.1], [3, mission], ...nothingToShow]),
    })
    const service = await startService()
    const uav = { id: 'uav', mode: 'simple', source: { uri: sender.uri }, klv_config: { auto_extract_geolocation: true } }
    await service.request('POST', '/svc/pipeline', uav)
    const { page, expectQuiet } = await chromium.open({ width: 360, height: 740 })
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/uav`)
    await page
      .getByRole('button', { name: /^Show all/ })
      .filter({ hasText: 'Show all 4 values' })
      .click()
    const panel = page.getByRole('region', { name: 'KLV metadata' })
    await panel.getByText(mission).waitFor()
    expect(await panel.getByRole('term').allTextContents()).toEqual(['Precision Time Stamp', 'Sensor Latitude', 'Mission ID', 'Checksum'])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expectQuiet()
    await service.stop()
    await sender.stop()
  }, 60_000)
})

describe('a service with a password', () => {
  it('is shown after the login only, and the page keeps no secret but the token of its tab', async () => {
    const service = await startService({ env: { SVC_PASSWORD: 'correct horse battery' } })
    const { page, context, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/`)
    const password = page.getByRole('textbox', { name: 'Password', exact: true })
    await password.fill('wrong horse')
    await expectAccessible()
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
    await password.fill('correct horse battery')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'See your first stream' }).waitFor()
    expect(await context.cookies()).toEqual([])
    expect(await page.evaluate(() => [Object.keys(sessionStorage), Object.keys(localStorage)])).toEqual([['token'], []])

    await page.reload()
    await page.getByRole('heading', { name: 'See your first stream' }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await password.waitFor()
    expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
    await service.stop()
  }, 60_000)

  it('warns that it is open to others only as long as it is, and counts how long the service runs', async () => {
    const service = await startService({ env: { SVC_HOST: '0.0.0.0' } })
    const url = `http://127.0.0.1:${new URL(service.url).port}`
    const { page } = await chromium.open()
    await page.goto(`${url}/svc/dashboard/#/settings`)
    const warning = page.getByText('Other computers can reach this service')
    await warning.waitFor()
    const running = page.locator('dt', { hasText: 'Running for' }).locator('+ dd')
    const first = await running.textContent()
    await page.getByRole('textbox', { name: 'New password' }).fill('a password of the page')
    await page.getByRole('button', { name: 'Set password' }).click()
    await warning.waitFor({ state: 'detached' })
    await expect.poll(() => running.textContent()).not.toBe(first)
    await page.getByRole('button', { name: 'Remove password' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click()
    await warning.waitFor()
    await service.stop()
  }, 60_000)

  it('has to be set where the service is opened by a name that it does not know, which every page says', async () => {
    const service = await startService()
    const { page } = await chromium.open()
    for (const hash of ['#/', '#/map', '#/pipeline/ball', '#/pipeline/ball/edit', '#/cameras', '#/settings']) {
      await page.goto('about:blank')
      await page.goto(`${service.url.replace('127.0.0.1', 'cam.test')}/svc/dashboard/${hash}`)
      await page.getByText('Add it to SVC_ALLOWED_HOSTS, set a password, or use localhost').waitFor()
      expect(await page.getByText('Loading').count()).toBe(0)
    }
    await service.stop()
  }, 60_000)

  it('asks for the login again when the session ends elsewhere, and password and settings can be changed in the page', async () => {
    const service = await startService()
    const { page, expectQuiet, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/settings`)
    await page.getByRole('textbox', { name: 'Start timeout (s)' }).fill('15')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('The settings are saved.').waitFor()
    expect((await service.request('GET', '/svc/settings')).body.start_timeout_seconds).toBe(15)
    await page.getByRole('textbox', { name: 'Start timeout (s)' }).fill('0')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByRole('alert').waitFor()
    await expectAccessible()

    await page.getByRole('textbox', { name: 'New password' }).fill('a password of the page')
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByRole('button', { name: 'Change password' }).waitFor()
    expect((await service.request('GET', '/svc/settings')).status).toBe(401)
    expectQuiet()

    const { body } = await service.request('POST', '/svc/auth/login', { password: 'a password of the page' })
    const authorization = `Bearer ${(body as { token: string }).token}`
    await service.request('PUT', '/svc/auth/password', { password: 'another password' }, { authorization })
    await page.getByText('Your session has ended. Log in again to continue.').waitFor()
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill('another password')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Remove password' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('No password is set').waitFor()
    expect((await service.request('GET', '/svc/settings')).status).toBe(200)
    await service.stop()
  }, 60_000)
})
