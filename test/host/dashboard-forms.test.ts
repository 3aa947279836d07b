import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useChromium } from '../helpers/browser/dashboard.ts'
import { startService } from '../helpers/process/service.ts'

const chromium = useChromium()
const BALL = {
  id: 'ball',
  mode: 'simple',
  source: { uri: 'test://ball?width=320&height=180&fps=15' },
  encoding: { codec: 'h264', bitrate: 300 },
}
const IDLE = { id: 'idle', mode: 'simple', on_demand: true, source: { uri: 'rtsp://u:secret@10.9.8.7/idle' } }
const PASSWORD = 'correct horse battery'

describe('the forms of the dashboard', () => {
  it('keep the stream when a change has a mistake, and restart it with the change when it has none', async () => {
    const service = await startService()
    expect((await service.request('POST', '/svc/pipeline', BALL)).status).toBe(201)
    const { page, expectQuiet } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/pipeline/ball/edit`)
    const bitrate = page.getByRole('textbox', { name: 'Bitrate (kbit/s)' })
    await bitrate.fill('1')
    await page.getByRole('button', { name: 'Save and restart' }).click()
    await page.getByText('Use at least 50').waitFor()
    await expect.poll(() => bitrate.evaluate((element) => element === document.activeElement)).toBe(true)
    const { runtime } = (await service.request('GET', '/svc/pipeline/ball')).body
    expect([runtime.phase, runtime.restarts]).toEqual(['playing', 0])

    // What only the replacement itself meets.
    await page.route(/pipeline\/ball$/, (route) =>
      route.request().method() === 'PUT'
        ? route.fulfill({ status: 503, json: { message: 'The database is away.', code: 'X' } })
        : route.continue(),
    )
    await bitrate.fill('400')
    await page.getByRole('button', { name: 'Save and restart' }).click()
    await page.getByRole('alert').filter({ hasText: 'The database is away.' }).waitFor()
    await expect.poll(async () => (await service.request('GET', '/svc/pipeline/ball')).body.runtime.phase).toBe('playing')
    await page.unroute(/pipeline\/ball$/)

    await page.getByRole('button', { name: 'Save and restart' }).click()
    await page.getByRole('heading', { name: 'ball', exact: true }).waitFor()
    await expect.poll(async () => (await service.request('GET', '/svc/pipeline/ball')).body.runtime.phase).toBe('playing')
    expect((await service.request('GET', '/svc/pipeline/ball')).body.encoding.bitrate).toBe(400)
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('keep what was typed while another page is looked at and when the session ends, until it is saved or given up', async () => {
    const service = await startService({ env: { SVC_PASSWORD: PASSWORD } })
    const { page } = await chromium.open()
    const logIn = async (password: string): Promise<void> => {
      await page.getByRole('textbox', { name: 'Password', exact: true }).fill(password)
      await page.getByRole('button', { name: 'Log in' }).click()
    }
    await page.goto(`${service.url}/svc/dashboard/#/new`)
    await logIn(PASSWORD)
    const name = page.getByRole('textbox', { name: 'Name' })
    await name.fill('porch')
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('textbox', { name: 'Start timeout (s)' }).fill('17')
    await page.goBack()
    expect(await name.inputValue()).toBe('porch')

    const { body } = await service.request('POST', '/svc/auth/login', { password: PASSWORD })
    const authorization = `Bearer ${(body as { token: string }).token}`
    await service.request('PUT', '/svc/auth/password', { password: 'another password' }, { authorization })
    await page.getByText('Your session has ended').waitFor()
    await logIn('another password')
    await page.getByText('Your unsaved input has been restored.').waitFor()
    expect(await name.inputValue()).toBe('porch')
    await page.getByRole('button', { name: 'Discard it' }).click()
    expect(await name.inputValue()).toBe('')
    await page.getByRole('link', { name: 'Settings' }).click()
    expect(await page.getByRole('textbox', { name: 'Start timeout (s)' }).inputValue()).toBe('17')

    // It is nobody else's: after a log out nothing is left.
    await page.getByRole('button', { name: 'Log out' }).click()
    await logIn('another password')
    await page.getByRole('textbox', { name: 'Start timeout (s)' }).waitFor()
    expect(await page.getByRole('textbox', { name: 'Start timeout (s)' }).inputValue()).toBe('10')
    await service.stop()
  }, 60_000)

  it('say in plain words that somebody else was first, and go to the first mistake', async () => {
    const service = await startService()
    const { page, expectAccessible } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/#/settings`)
    const start = page.getByRole('textbox', { name: 'Start timeout (s)' })
    await start.fill('11')
    await service.request('PUT', '/svc/settings', { stall_timeout_seconds: 20 })
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('The settings have been changed elsewhere').waitFor()
    expect([await start.inputValue(), await page.getByRole('textbox', { name: 'Stall timeout (s)' }).inputValue()]).toEqual(['11', '20'])
    await start.fill('soon')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('Correct the marked fields').waitFor()
    await expect.poll(() => start.evaluate((element) => element === document.activeElement)).toBe(true)
    expect(await page.locator('header').evaluate((bar) => bar.getBoundingClientRect().bottom)).toBeLessThan(
      (await start.boundingBox())?.y ?? 0,
    )
    const colourOf = (part: Locator, name: string) => part.evaluate((element, of) => getComputedStyle(element).getPropertyValue(of), name)
    expect(await colourOf(start, 'border-top-color')).toBe(
      await colourOf(page.locator('.field-error').filter({ hasText: /./ }).first(), 'color'),
    )
    await expectAccessible()
    await start.fill('12')
    await page.getByRole('button', { name: 'Save settings' }).click()
    await page.getByText('The settings are saved.').waitFor()
    expect((await service.request('GET', '/svc/settings')).body).toMatchObject({ start_timeout_seconds: 12, stall_timeout_seconds: 20 })
    await service.stop()
  }, 60_000)

  it('keep what is typed while they are being saved', async () => {
    const service = await startService()
    const { page, expectQuiet } = await chromium.open()
    /** Presses a button whose request is answered only when the work is done. */
    const during = async (button: string, work: () => Promise<void>): Promise<void> => {
      const asked = Promise.withResolvers<void>()
      const done = Promise.withResolvers<void>()
      await page.route(/\/svc\/(settings|auth\/password)$/, async (route) => {
        asked.resolve()
        await done.promise
        await route.continue()
      })
      await page.getByRole('button', { name: button }).click()
      await asked.promise
      await work()
      done.resolve()
      await page.unrouteAll({ behavior: 'wait' })
    }
    await page.goto(`${service.url}/svc/dashboard/#/settings`)
    const [start, stall] = ['Start timeout (s)', 'Stall timeout (s)'].map((name) => page.getByRole('textbox', { name }))
    await start?.fill('11')
    await during('Save settings', async () => stall?.fill('21'))
    await page.getByText('The settings are saved.').waitFor()
    expect([await start?.inputValue(), await stall?.inputValue()]).toEqual(['11', '21'])
    await page.getByRole('button', { name: 'Save settings' }).click()
    await expect.poll(async () => (await service.request('GET', '/svc/settings')).body.stall_timeout_seconds).toBe(21)

    const password = page.getByRole('textbox', { name: 'New password' })
    await password.fill(PASSWORD)
    await during('Set password', () => password.fill(`${PASSWORD} and more`))
    await page.getByText('The password is set.').waitFor()
    await page.getByRole('button', { name: 'Change password' }).waitFor()
    expectQuiet()
    await service.stop()
  }, 60_000)
})

describe('a page that is left open', () => {
  it('goes on at the heading of the page that is opened, or at the card that it came from, for screen readers and keyboards', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', IDLE)
    const { page, expectQuiet } = await chromium.open()
    await page.goto(`${service.url}/svc/dashboard/`)
    await page.getByRole('link', { name: 'idle' }).press('Enter')
    const focused = () => page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`)
    await expect.poll(focused).toBe('H1 idle')
    await page.goBack()
    await expect.poll(focused).toBe('A idle')
    await page.getByRole('link', { name: 'Settings' }).press('Enter')
    await expect.poll(focused).toBe('H1 Settings')
    await page.goBack()
    await expect.poll(focused).toBe('H1 Pipelines')
    expectQuiet()
    await service.stop()
  }, 60_000)

  it('leaves the few connections of a browser to the window that is in use, and shows what is true all the same', async () => {
    const service = await startService()
    const flight = { id: 'drone', mode: 'simple', source: { uri: 'test://smpte?width=160&height=90&fps=5&klv=1' } }
    await service.request('POST', '/svc/pipeline', { ...flight, klv_config: { auto_extract_geolocation: true } })
    const { page, context } = await chromium.open()
    const windows = [page, await context.newPage(), await context.newPage()]
    // Here every window has the focus.
    for (const behind of windows.slice(1)) await behind.addInitScript('document.hasFocus = () => false')
    for (const one of windows) {
      await one.goto(`${service.url}/svc/dashboard/#/pipeline/drone`)
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
    expect((await service.request('GET', '/svc/pipeline/drone')).body.state).toBe('ready')
    await service.stop()
  }, 90_000)

  it('says that it has no connection when nothing answers, though none was closed', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', IDLE)
    const { page } = await chromium.open()
    await page.clock.install()
    await page.goto(`${service.url}/svc/dashboard/`)
    await page.getByRole('link', { name: 'idle' }).waitFor()
    const unanswered = page.waitForRequest(/\/svc\/pipeline$/)
    await page.route(/\/svc\/pipeline$/, () => {})
    await unanswered
    await page.clock.fastForward(20_000)
    const connecting = page.getByText('Connecting to the service')
    await connecting.waitFor()
    await page.unrouteAll()
    await connecting.waitFor({ state: 'hidden' })
    expect(await page.getByRole('link', { name: 'idle' }).count()).toBe(1)
    await service.stop()
  }, 60_000)

  it('says so when the service has another version, and when a part of it cannot be loaded', async () => {
    const service = await startService()
    await service.request('POST', '/svc/pipeline', { ...IDLE, geolocation: { latitude: 1, longitude: 2 } })
    const { page } = await chromium.open()
    await page.route(/map-[A-Z0-9]+\.js$/, (route) => route.fulfill({ status: 404, body: '' }))
    await page.goto(`${service.url}/svc/dashboard/#/map`)
    await page.getByText('A part of this page could not be loaded.').waitFor()
    await page.unroute(/map-[A-Z0-9]+\.js$/)
    await page.getByRole('button', { name: 'Reload the page' }).click()
    await page.getByRole('button', { name: 'idle' }).waitFor()
    expect(await page.getByText('A part of this page could not be loaded.').count()).toBe(0)

    await page.route(/\/svc\/dashboard\/$/, async (route) => {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, body: (await answer.text()).replace(/main-[A-Z0-9]+\.js/, 'main-NEXTNEXT.js') })
    })
    await service.kill()
    await page.getByText('Connecting to the service').waitFor()
    const next = await startService({ dataDir: service.dataDir, env: { SVC_PORT: new URL(service.url).port } })
    await page.getByText('The service has another version now').waitFor()
    expect(await page.getByRole('button', { name: 'idle' }).count()).toBe(1)
    await next.stop()
  }, 60_000)
})
