import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { dashboardOf, useChromium } from '../../helpers/browser/dashboard.ts'
import { startService } from '../../helpers/process/service.ts'
import { createPipeline, untilPhase, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const chromium = useChromium({ flags: ['--host-resolver-rules=MAP cam.test 127.0.0.1'] })
const service = shareService()
const PASSWORD = 'correct horse battery'
const START = 'Start timeout (s)'
const STALL = 'Stall timeout (s)'

const hasFocus = (element: Locator) => expect.poll(() => element.evaluate((one) => one === document.activeElement)).toBe(true)
const settingsOf = async () => (await service.request('GET', '/svc/settings')).body

describe('the form of a pipeline', () => {
  it('says beside each field what is wrong with it, while it is filled in', async () => {
    const phone = { at: dashboardOf(service, '#/new'), width: 360, height: 740 }
    const { page, button, field, shows, expectQuiet, expectAccessible } = await chromium.open(phone)
    await field('Name').fill('two words')
    await field('Address').fill('gopher://10.0.0.5/x')
    await field('Address').blur()
    await shows(/^Use an address that starts with one of: rtsp/)
    expect(await field('Address').getAttribute('aria-invalid')).toBe('true')
    await button('Create and play').click()
    await shows('Use letters, digits, dash and underscore only')
    // The first field that is wrong has the focus.
    await hasFocus(field('Name'))
    await expectAccessible()
    await page.getByRole('radio', { name: 'Advanced' }).check()
    await field('Name').fill('own')
    await page.getByRole('textbox', { name: 'Description' }).fill('videotestsrc ! nosuchelement')
    await shows(/no element "nosuchelement"/)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    expectQuiet()
  })

  it('tests a source before anything is saved, and saves one that does not answer yet', async () => {
    const { page, button, field, heading, shows, expectQuiet, expectAccessible } = await chromium.open({
      at: dashboardOf(service, '#/new'),
    })
    await field('Name').fill('porch')
    await field('Address').fill('test://ball?width=320&height=180&fps=15')
    await button('Test source').click()
    await shows('H.264, 320×180, 15 fps')
    await page.getByRole('img', { name: 'What the source shows' }).waitFor()
    await field('Address').fill('rtsp://admin:p@ss@127.0.0.1:1/x')
    await field('Address').blur()
    expect([await field('User').inputValue(), await field('Password').inputValue()]).toEqual(['admin', 'p@ss'])
    await button('Test source').click()
    await shows(/nothing listens at this address and port/)
    await button('Create and play').click()
    await button('Save anyway').waitFor()
    await expectAccessible()
    expect((await service.request('GET', '/svc/pipeline')).body).toEqual([])
    await button('Save anyway').click()
    await heading('porch').waitFor()
    expect(await viewOf(service, 'porch')).toMatchObject({ source: { uri: 'rtsp://***@127.0.0.1:1/x' }, runtime: { desired: 'playing' } })
    expectQuiet()
  })

  it('keeps the stream when a change has a mistake, and restarts it with the change when it has none', async () => {
    const ball = { source: { uri: 'test://ball?width=320&height=180&fps=15' }, encoding: { codec: 'h264', bitrate: 300 } }
    await createPipeline(service, 'ball', ball)
    const { page, button, field, heading, shows, expectQuiet } = await chromium.open({ at: dashboardOf(service, '#/pipeline/ball/edit') })
    const [bitrate, save] = [field('Bitrate (kbit/s)'), button('Save and restart')]
    await bitrate.fill('1')
    await save.click()
    await shows('Use at least 50')
    await hasFocus(bitrate)
    expect((await viewOf(service, 'ball')).runtime).toMatchObject({ phase: 'playing', restarts: 0 })

    // A fault of the replacement itself.
    const fault = { status: 503, json: { message: 'The database is away.', code: 'X' } }
    await page.route(/pipeline\/ball$/, (route) => (route.request().method() === 'PUT' ? route.fulfill(fault) : route.continue()))
    await bitrate.fill('400')
    await save.click()
    await page.getByRole('alert').filter({ hasText: 'The database is away.' }).waitFor()
    await untilPhase(service, 'ball', 'playing')
    await page.unroute(/pipeline\/ball$/)

    await save.click()
    await heading('ball').waitFor()
    expect((await untilPhase(service, 'ball', 'playing')).encoding.bitrate).toBe(400)
    expectQuiet()
  })

  it('keeps credentials, and notices when the pipeline was changed elsewhere', async () => {
    const other = { id: 'cam', mode: 'simple', on_demand: true, source: { uri: 'rtsp://10.9.8.7/other' } }
    await createPipeline(service, 'cam', { on_demand: true, source: { uri: 'rtsp://u:secret@10.9.8.7/cam' } })
    const { page, button, field, link, shows } = await chromium.open({ at: dashboardOf(service, '#/pipeline/cam') })
    const [jitter, receivers] = [field('Jitter buffer (ms)'), page.getByRole('textbox', { name: 'Send to' })]
    const source = page.getByRole('textbox', { name: 'Address' })
    await link('Edit').click()
    await jitter.fill('350')
    await page.getByText('Position, address and receivers').click()
    await receivers.fill('srt://10.9.8.7:9000?passphrase=correct-horse  udp://239.7.7.7:5600')
    expect(await source.inputValue()).not.toContain('secret')
    await button('Save').click()
    await link('Edit').waitFor()
    expect(await viewOf(service, 'cam')).toMatchObject({
      source: { latency_ms: 350 },
      push: [{ uri: 'srt://10.9.8.7:9000?passphrase=***' }, { uri: 'udp://239.7.7.7:5600' }],
    })
    await page.getByRole('listitem').filter({ hasText: 'udp://239.7.7.7:5600' }).getByText('Starts with the pipeline').waitFor()
    // Nothing is wrong with credentials that are masked.
    await page.getByText('GStreamer line').click()
    await button('Copy the line for gst-launch').waitFor()

    const checked = page.waitForResponse('**/pipeline/validate')
    await link('Edit').click()
    await jitter.fill('400')
    expect((await checked).status()).toBe(200)
    expect(await receivers.inputValue()).toBe('srt://10.9.8.7:9000?passphrase=***\nudp://239.7.7.7:5600')
    await service.request('PUT', '/svc/pipeline/cam', other)
    await button('Save').click()
    await shows('This pipeline has been changed elsewhere')
    expect((await viewOf(service, 'cam')).source).toMatchObject(other.source)
    await page.goBack()
    await page.goForward()
    await button('Discard it').click()
    await expect.poll(() => source.inputValue()).toBe(other.source.uri)
    await jitter.fill('450')
    await button('Save').click()
    await link('Edit').waitFor()
    expect((await viewOf(service, 'cam')).source.latency_ms).toBe(450)
  })
})

describe('the form of the settings', () => {
  it('says that they were changed elsewhere, and moves the focus to the first mistake', async () => {
    const { page, button, field, shows, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/settings') })
    const [start, save] = [field(START), button('Save settings')]
    await start.fill('11')
    await service.request('PUT', '/svc/settings', { stall_timeout_seconds: 20 })
    await save.click()
    await shows('The settings have been changed elsewhere')
    expect([await start.inputValue(), await field(STALL).inputValue()]).toEqual(['11', '20'])
    await start.fill('soon')
    await save.click()
    await shows('Correct the marked fields')
    await hasFocus(start)
    // The bar at the top does not cover it.
    const bar = await page.locator('header').evaluate((element) => element.getBoundingClientRect().bottom)
    expect(bar).toBeLessThan((await start.boundingBox())?.y ?? 0)
    const colorOf = (element: Locator, name: string) => element.evaluate((one, of) => getComputedStyle(one).getPropertyValue(of), name)
    const message = page.locator('.field-error').filter({ hasText: /./ }).first()
    expect(await colorOf(start, 'border-top-color')).toBe(await colorOf(message, 'color'))
    await expectAccessible()
    await start.fill('12')
    await save.click()
    await shows('The settings are saved.')
    expect(await settingsOf()).toMatchObject({ start_timeout_seconds: 12, stall_timeout_seconds: 20 })
  })

  it('keeps what is typed while they are being saved', async () => {
    const { page, button, field, shows, expectQuiet } = await chromium.open({ at: dashboardOf(service, '#/settings') })
    await field(START).fill('11')
    const asked = Promise.withResolvers<void>()
    const typed = Promise.withResolvers<void>()
    await page.route(/\/svc\/settings$/, async (route) => {
      asked.resolve()
      await typed.promise
      await route.continue()
    })
    await button('Save settings').click()
    await asked.promise
    await field(STALL).fill('21')
    typed.resolve()
    await page.unrouteAll({ behavior: 'wait' })
    await shows('The settings are saved.')
    expect([await field(START).inputValue(), await field(STALL).inputValue()]).toEqual(['11', '21'])
    await button('Save settings').click()
    await expect.poll(async () => (await settingsOf()).stall_timeout_seconds).toBe(21)
    expectQuiet()
  })
})

describe('the form of the webhooks', () => {
  it('makes a secret, saves the list, marks mistakes, and keeps what it does not show', async () => {
    const { page, button, field, shows, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/settings') })
    await button('Add a webhook').click()
    await field('Address').fill('ftp://hooks.test/')
    await button('Save webhooks').click()
    await shows(/^Use an address that starts with one of/)
    await hasFocus(field('Address'))
    await field('Address').fill('http://u:pa55word@127.0.0.1:9/hook')
    await page.getByRole('checkbox', { name: 'KLV packets' }).check()
    await button('Save webhooks').click()
    await shows('The webhooks are saved.')
    await expectAccessible()
    expect((await settingsOf()).webhooks).toMatchObject([{ url: 'http://***@127.0.0.1:9/hook', secret: '***' }])
    expect((await settingsOf()).webhooks[0].events).toContain('klv')
    // The other form knows what this one has changed.
    await field(START).fill('13')
    await button('Save settings').click()
    await shows('The settings are saved.')
    await button('Remove webhook 1').click()
    await button('Save webhooks').click()
    await expect.poll(async () => (await settingsOf()).webhooks).toEqual([])
    expectQuiet()
  })
})

describe('a service with a password', () => {
  const logIn = async (page: Page, password: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Password', exact: true }).fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
  }
  const changeElsewhere = async ({ url }: { readonly url: string }, from: string, to: string): Promise<void> => {
    const post = (method: string, path: string, password: string, headers = {}) =>
      fetch(`${url}/svc/auth/${path}`, { method, body: JSON.stringify({ password }), headers })
    const { token } = (await (await post('POST', 'login', from)).json()) as { token: string }
    expect((await post('PUT', 'password', to, { authorization: `Bearer ${token}` })).status).toBe(200)
  }

  it('is shown after the login only, and the page keeps no secret but the token of its tab', async () => {
    const locked = await startService({ env: { SVC_PASSWORD: PASSWORD } })
    const { page, context, button, field, heading, expectAccessible } = await chromium.open({ at: dashboardOf(locked) })
    await field('Password').fill('wrong horse')
    await expectAccessible()
    await button('Log in').click()
    await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor()
    await logIn(page, PASSWORD)
    await heading('See your first stream').waitFor()
    expect(await context.cookies()).toEqual([])
    expect(await page.evaluate(() => [Object.keys(sessionStorage), Object.keys(localStorage)])).toEqual([['token'], []])
    await page.reload()
    await heading('See your first stream').waitFor()
    await button('Log out').click()
    await field('Password').waitFor()
    expect(await page.evaluate(() => Object.keys(sessionStorage))).toEqual([])
  })

  it('keeps input while another page is open and when the session ends, until it is saved or discarded', async () => {
    const locked = await startService({ env: { SVC_PASSWORD: PASSWORD } })
    const { page, button, field, link, shows } = await chromium.open({ at: dashboardOf(locked, '#/new') })
    await logIn(page, PASSWORD)
    await field('Name').fill('porch')
    await link('Settings').click()
    await field(START).fill('17')
    await page.goBack()
    expect(await field('Name').inputValue()).toBe('porch')
    await changeElsewhere(locked, PASSWORD, 'another password')
    await shows('Your session has ended. Log in again to continue.')
    await logIn(page, 'another password')
    await shows('Your unsaved input has been restored.')
    expect(await field('Name').inputValue()).toBe('porch')
    await button('Discard it').click()
    expect(await field('Name').inputValue()).toBe('')
    await link('Settings').click()
    expect(await field(START).inputValue()).toBe('17')
    // After a log out nothing is left for the next user.
    await button('Log out').click()
    await logIn(page, 'another password')
    await expect.poll(() => field(START).inputValue()).toBe('10')
  })

  it('warns that it is open to others only as long as it is; the page sets, changes and removes the password', async () => {
    const exposed = await startService({ env: { SVC_HOST: '0.0.0.0' } })
    const url = exposed.url.replace('0.0.0.0', '127.0.0.1')
    const { page, button, field, shows, expectAccessible } = await chromium.open({ at: dashboardOf({ url }, '#/settings') })
    const warning = page.getByText('Other computers can reach this service')
    await warning.waitFor()
    await expectAccessible()
    const running = page.locator('dt', { hasText: 'Running for' }).locator('+ dd')
    const first = await running.textContent()
    await field('New password').fill(PASSWORD)
    await field('Repeat new password').fill(`${PASSWORD}!`)
    await button('Set password').click()
    await shows('This is not the same password.')
    await field('Repeat new password').fill(PASSWORD)
    await button('Set password').click()
    await expect.poll(() => field('New password').inputValue()).toBe('')
    await field('Current password').fill('not this one')
    for (const name of ['New password', 'Repeat new password']) await field(name).fill('another password')
    await button('Change password').click()
    await shows('This is not the present password.')
    await field('Current password').fill(PASSWORD)
    await button('Change password').click()
    await expect.poll(() => field('New password').inputValue()).toBe('')
    await warning.waitFor({ state: 'detached' })
    expect((await fetch(`${url}/svc/settings`)).status).toBe(401)
    await expect.poll(() => running.textContent()).not.toBe(first)
    await button('Remove password').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click()
    await shows('No password is set')
    await warning.waitFor()
    expect((await fetch(`${url}/svc/settings`)).status).toBe(200)
  })

  it('has to have one where it is opened by a name that it does not know, as every page says', async () => {
    const { page, shows } = await chromium.open()
    for (const hash of ['#/', '#/map', '#/pipeline/ball', '#/pipeline/ball/edit', '#/cameras', '#/settings']) {
      await page.goto('about:blank')
      await page.goto(dashboardOf({ url: service.url.replace('127.0.0.1', 'cam.test') }, hash))
      await shows('Add it to SVC_ALLOWED_HOSTS, set a password, or use localhost')
      expect(await page.getByText('Loading').count()).toBe(0)
    }
  })
})
