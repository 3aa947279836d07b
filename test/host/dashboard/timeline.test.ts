import { expect, it } from 'vitest'
import { dashboardOf, useChromium } from '../../helpers/browser/dashboard.ts'
import { changeSettings, command, createPipeline } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'
import { until } from '../../helpers/until.ts'

const chromium = useChromium()
const service = shareService()
const SOURCE = { uri: 'test://ball?width=160&height=90&fps=15&audio=1' }

it('shows what was recorded: pictures by the keyboard, playback, and a file of a marked range', { timeout: 60_000 }, async () => {
  await changeSettings(service, { recordings: { segment_seconds: 1 } })
  await createPipeline(service, 'quay', { source: SOURCE, audio: 'aac' })
  expect((await command(service, 'quay', 'recording/start')).status).toBe(200)
  const seconds = async () => {
    const [span] = (await service.request('GET', '/svc/recordings?pipeline_id=quay')).body
    return span === undefined ? 0 : (Date.parse(span.to) - Date.parse(span.from)) / 1000
  }
  await until(seconds, (recorded) => recorded >= 4, 20_000)
  const { page, button, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/pipeline/quay') })
  const slider = page.getByRole('slider', { name: 'Moment' })
  await expect.poll(() => slider.getAttribute('aria-valuetext')).toMatch(/, recorded$/)
  await button('Stop recording').click()
  await button('Record').waitFor()

  await button('Minute').click()
  await until(
    async () => {
      await button('Newest').click()
      return slider.getAttribute('aria-valuetext')
    },
    (text) => text?.endsWith(', recorded') === true,
  )
  await button('Mark end').click()
  for (let step = 0; step < 4; step += 1) await slider.press('ArrowLeft')
  await button('Mark begin').click()
  await page.getByRole('img', { name: /^Recorded at/ }).waitFor()
  await expectAccessible()

  await button('Play from here').click()
  const played = () => page.evaluate(() => document.querySelector<HTMLVideoElement>('.timeline video')?.currentTime ?? 0)
  await until(played, (time) => time > 0.3)
  await button('Stop playback').click()
  const download = page.waitForEvent('download')
  await button('Download the marked range as MP4').click()
  expect((await download).suggestedFilename()).toMatch(/^quay_.*\.mp4$/)
  expectQuiet()
})

it('finds who saw a place: by a click on the map, or typed; then the KLV and footprint of that moment, and when else it was seen', {
  timeout: 60_000,
}, async () => {
  await changeSettings(service, { recordings: { segment_seconds: 1 } })
  const source = { uri: 'test://ball?width=160&height=90&fps=15&klv=1' }
  await createPipeline(service, 'drone', { source, klv_config: { pass_klv: true, auto_extract_geolocation: true } })
  expect((await command(service, 'drone', 'recording/start')).status).toBe(200)
  // The synthetic flight looks at one place all the time.
  const center = async () => {
    const { body } = await service.request('GET', '/svc/pipeline/drone/klv')
    return [body.values?.frame_center_latitude, body.values?.frame_center_longitude]
  }
  const [latitude, longitude] = await until(center, ([found]) => typeof found === 'number', 20_000)
  const covers = `${latitude.toFixed(5)},${longitude.toFixed(5)}`
  const seen = async () => (await service.request('GET', `/svc/recordings?covers=${covers}`)).body.length
  await until(seen, (spans) => spans > 0, 20_000)
  const { page, button, field, link, shows, expectQuiet, expectAccessible } = await chromium.open({ at: dashboardOf(service, '#/map') })
  await button('drone').waitFor()
  await field('Place').fill('80.0, 10.0')
  await button('Find recordings').click()
  await shows('No recording shows this place.')
  await field('Place').fill(covers)
  await button('Find recordings').click()
  await page.getByRole('list', { name: 'Recordings that show this place' }).waitFor()
  await expectAccessible()
  // A click asks for the place that was clicked.
  await page.locator('.map').click({ position: { x: 40, y: 40 } })
  await expect.poll(() => field('Place').inputValue()).not.toBe(covers)
  await field('Place').fill(covers)
  await button('Find recordings').click()
  await page.getByRole('list', { name: 'Recordings that show this place' }).getByRole('link', { name: 'drone' }).first().click()

  await shows('KLV of this moment')
  await page.getByRole('img', { name: /^Recorded at/ }).waitFor()
  const moment = page.getByRole('region', { name: 'Map of this moment' })
  await moment.locator('.map-footprint').waitFor()
  await moment.locator('.map-asked').waitFor()
  await shows(`${covers} was in the picture in`)
  await page.locator('.timeline-seen').first().waitFor()
  await expectAccessible()
  await link('Map').click()
  expectQuiet()
})
