import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dashboardOf, useChromium } from '../../helpers/browser/dashboard.ts'
import { untilMoving } from '../../helpers/browser/live-picture.ts'
import { command, createPipeline, untilReaders, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const chromium = useChromium()
const service = shareService()
const FOLDER = resolve(import.meta.dirname, '../../../dist/dashboard')
const BALL = 'test://ball?width=320&height=180&fps=15'
const idle = (id: string, more: object = {}) =>
  createPipeline(service, id, { on_demand: true, source: { uri: `rtsp://10.9.8.7/${id}` }, ...more })

describe('the files of the dashboard', () => {
  it('are small: under 150 kB without the map, as they are sent', () => {
    const files = readdirSync(FOLDER).filter((name) => name.endsWith('.br') && !/^(map|leaflet)/.test(name))
    expect(files.length).toBeGreaterThan(3)
    expect(files.reduce((sum, name) => sum + statSync(join(FOLDER, name)).size, 0)).toBeLessThan(150_000)
  })

  it('name no other host but in comments and namespaces', () => {
    for (const name of readdirSync(FOLDER).filter((file) => /\.(js|css|html)$/.test(file))) {
      const hosts = [...readFileSync(join(FOLDER, name), 'utf8').matchAll(/https?:\/\/([a-z0-9.-]+)/g)].map(([, host]) => host)
      const known = ['www.w3.org', 'leafletjs.com', 'tiles.example.org']
      expect([name, hosts.filter((host) => !known.includes(String(host)))]).toEqual([name, []])
    }
  })
})

describe('the overview', () => {
  it('says what to do first; the first pipeline is created, played, stopped and deleted by the keyboard', async () => {
    const { page, button, field, heading, link, shows, expectQuiet, expectAccessible } = await chromium.open({ at: `${service.url}/` })
    const state = async () => (await viewOf(service, 'gate')).state
    expect(new URL(page.url()).pathname).toBe('/svc/dashboard/')
    await heading('See your first stream').waitFor()
    await expectAccessible()

    await link('New pipeline').click()
    await field('Name').fill('gate')
    await field('Address').fill(BALL)
    await expectAccessible()
    await button('Create and play').click()
    await heading('gate').waitFor()
    expect(await state()).toBe('playing')

    const [play, stop] = [page.getByRole('button', { name: 'Play', exact: true }), page.getByRole('button', { name: 'Stop', exact: true })]
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await stop.press('Enter')
    await play.waitFor()
    await expect.poll(focused).toBe('Play')
    expect(await state()).toBe('ready')
    await expectAccessible()
    await play.press('Enter')
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(focused).toBe('Stop')
    await expect.poll(state).toBe('playing')

    await button('Delete').click()
    await button('Delete pipeline').click()
    await shows('See your first stream')
    expect((await service.request('GET', '/svc/pipeline/gate')).status).toBe(404)
    expectQuiet()
  })

  it('shows each change soon, without a reload', async () => {
    await idle('one')
    const { page, heading, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service) })
    await heading('one').waitFor()
    await page.evaluate(() => Object.assign(window, { isSame: true }))
    const delays: number[] = []
    const shownAfter = async (change: Promise<unknown>, seen: () => Promise<unknown>): Promise<void> => {
      await change
      const began = performance.now()
      await seen()
      delays.push(performance.now() - began)
    }
    const card = page.getByRole('listitem').filter({ hasText: 'ball' })
    await shownAfter(createPipeline(service, 'ball', { source: { uri: BALL } }), () => heading('ball').waitFor())
    await shownAfter(command(service, 'ball', 'stop'), () => card.getByText('Stopped').waitFor())
    await shownAfter(service.request('DELETE', '/svc/pipeline/one'), () => heading('one').waitFor({ state: 'detached' }))
    expect(delays.filter((delay) => delay > 5000)).toEqual([])
    expect(await page.evaluate(() => 'isSame' in window)).toBe(true)
    await expectAccessible()
    expectQuiet()
  })

  it('finds pipelines by name, source and state', async () => {
    for (const id of ['north-gate', 'south-gate', 'roof']) await idle(id)
    const { page, button, heading, shows, expectQuiet } = await chromium.open({
      at: dashboardOf(service),
      width: 360,
      height: 740,
      dark: true,
    })
    const shown = () => page.getByRole('heading', { level: 2 }).allTextContents()
    const search = page.getByRole('searchbox', { name: 'Search by name or source' })
    await heading('roof').waitFor()
    expect(await shown()).toEqual(['north-gate', 'roof', 'south-gate'])
    await search.fill('GATE')
    expect(await shown()).toEqual(['north-gate', 'south-gate'])
    await search.fill('10.9.8.7/roof')
    expect(await shown()).toEqual(['roof'])
    await page.getByRole('radio', { name: /^Live/ }).check()
    await shows('No pipeline matches.')
    await button('Show all').click()
    expect(await shown()).toHaveLength(3)
    expectQuiet()
  })

  it('shows live video on a card that has the focus, and reads nothing otherwise; stops, plays and deletes from it', async () => {
    await createPipeline(service, 'ball', { source: { uri: BALL } })
    const { page, button, link, shows, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service) })
    await page.getByRole('img', { name: 'Preview of ball' }).waitFor()
    await untilReaders(service, 'ball', 0)
    await link('ball').focus()
    await untilMoving(page)
    await untilReaders(service, 'ball', 1)
    await page.getByRole('searchbox').focus()
    await untilReaders(service, 'ball', 0)
    await button('More for ball').click()
    await expectAccessible()
    const saved = page.waitForEvent('download')
    await button('Save picture').click()
    expect((await saved).suggestedFilename()).toMatch(/^ball_.*\.jpg$/)
    await page.keyboard.press('Escape')
    await button('Stop ball').press('Enter')
    await button('Play ball').waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Play ball')
    await button('More for ball').press('Enter')
    await button('Delete').click()
    await button('Delete pipeline').click()
    await shows('See your first stream')
    expectQuiet()
  })

  it('shows a wall of what plays over one connection, which goes on with the others when one stops', async () => {
    for (const id of ['east', 'west']) await createPipeline(service, id, { source: { uri: BALL } })
    const { page, link, shows, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service) })
    const videos: string[] = []
    page.on('request', (request) => void (/\/video(\?|$)/.test(request.url()) && videos.push(new URL(request.url()).search)))
    await link('Wall').click()
    await untilMoving(page)
    for (const id of ['east', 'west']) await untilReaders(service, id, 1)
    expect(videos).toEqual(['?ids=east%2Cwest'])
    await expectAccessible()
    await command(service, 'east', 'stop')
    await link('east').waitFor({ state: 'detached' })
    await untilMoving(page)
    expect(videos.at(-1)).toBe('?ids=west')
    await command(service, 'west', 'stop')
    await shows('No pipeline plays.')
    expectQuiet()
  })

  it('has room for the longest name on a phone, as every page', async () => {
    const id = 'W'.repeat(64)
    await idle(id, { geolocation: { latitude: 1, longitude: 2 } })
    const { page, button, heading, link, expectQuiet } = await chromium.open({ at: dashboardOf(service), width: 360, height: 740 })
    const expectToFit = async () => expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360)
    await heading(id).waitFor()
    await expectToFit()
    await page.goto(dashboardOf(service, '#/map'))
    await button(id).waitFor()
    await expectToFit()
    await page.goto(dashboardOf(service, `#/pipeline/${id}`))
    await link('Edit').click()
    await heading(`Edit ${id}`).waitFor()
    await expectToFit()
    await page.goBack()
    await button('Delete').click()
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    await expectToFit()
    expect(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
    await page.keyboard.press('Escape')
    const away = { id: 'away-'.repeat(12), source: { uri: 'rtsp://127.0.0.1:1/' } }
    await service.request('POST', '/svc/pipeline?start=background', away)
    await page.goto(dashboardOf(service, '#/wall'))
    const state = page.locator('.wall-tile .state')
    await state.waitFor()
    const [nameBox, stateBox] = [await link(away.id).boundingBox(), await state.boundingBox()]
    expect((nameBox?.x ?? 0) + (nameBox?.width ?? 0)).toBeLessThan(stateBox?.x ?? 0)
    expectQuiet()
  })

  it('moves the focus to the heading of the page that is opened, or back to the link that opened it', async () => {
    await idle('idle')
    const { page, link, expectQuiet } = await chromium.open({ at: dashboardOf(service) })
    const expectFocus = (text: string) =>
      expect.poll(() => page.evaluate(() => `${document.activeElement?.tagName} ${document.activeElement?.textContent}`)).toBe(text)
    await link('idle').press('Enter')
    await expectFocus('H1 idle')
    await page.goBack()
    await expectFocus('A idle')
    await link('Settings').press('Enter')
    await expectFocus('H1 Settings')
    await page.goBack()
    await expectFocus('H1 Pipelines')
    expectQuiet()
  })
})
