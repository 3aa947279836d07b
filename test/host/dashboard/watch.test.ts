import { expect, it } from 'vitest'
import { dashboardOf, useChromium } from '../../helpers/browser/dashboard.ts'
import { untilMoving } from '../../helpers/browser/live-picture.ts'
import { startService } from '../../helpers/process/service.ts'
import { command, createPipeline } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const chromium = useChromium()
const service = shareService()
const BALL = { source: { uri: 'test://ball?width=320&height=180&fps=10' } }

it('shows the picture alone at the address that the page of the pipeline shares, and says why there is none', async () => {
  await createPipeline(service, 'gate', BALL)
  const address = dashboardOf(service, '#/watch/gate')
  const { page, button, heading, shows, expectQuiet, expectAccessible } = await chromium.open({
    at: dashboardOf(service, '#/pipeline/gate'),
  })
  await heading('Share the picture').waitFor()
  await button('Copy the line for Picture').click()
  await page.getByText('Copied', { exact: true }).waitFor()
  await shows(`<iframe src="${address}" width="640" height="360" style="border:0" allow="fullscreen"></iframe>`)

  await page.goto('about:blank')
  await page.goto(address)
  await untilMoving(page)
  expect(await page.getByRole('navigation').count()).toBe(0)
  const { width, height } = (await page.locator('.live-surfaces > :not([hidden])').boundingBox()) ?? {}
  expect([width, height]).toEqual([1280, 900])
  await expectAccessible()
  await command(service, 'gate', 'stop')
  await shows('There is no picture now: the stream is stopped.')
  await command(service, 'gate', 'play')
  await untilMoving(page)
  await page.goto(dashboardOf(service, '#/watch/nobody'))
  await shows('No pipeline has this name.')
  expectQuiet()
})

it('starts an on-demand pipeline when it is opened, and once stopped only when asked to', async () => {
  await createPipeline(service, 'demanded', { ...BALL, on_demand: true })
  const { page, button } = await chromium.open({ at: dashboardOf(service, '#/watch/demanded') })
  await untilMoving(page)
  await command(service, 'demanded', 'stop')
  await button('Watch').click()
  await untilMoving(page)
})

it('is shown in no other page, and to nobody without the password', async () => {
  const protectedService = await startService({ env: { SVC_PASSWORD: 'correct horse battery' } })
  const address = dashboardOf(protectedService, '#/watch/gate')
  const { page } = await chromium.open({ at: address })
  await page.getByLabel('Password').waitFor()
  expect(await page.getByText('No pipeline has this name.').count()).toBe(0)

  // Not even in one of its own origin.
  const framing = `${protectedService.url}/framing`
  await page.route(framing, (route) =>
    route.fulfill({ contentType: 'text/html', body: `<!doctype html><iframe src="${address}"></iframe>` }),
  )
  const asked = page.waitForResponse(address.split('#')[0] ?? '')
  await page.goto(framing)
  expect((await asked).status()).toBe(200)
  await expect.poll(() => page.frames().map((frame) => frame.url())).toEqual([framing, 'chrome-error://chromewebdata/'])
})
