import { expect, it, onTestFinished } from 'vitest'
import { startFrameClock } from '../../helpers/media/frame-clock.ts'
import { playSource } from '../../helpers/media/play-source.ts'
import { freeUdpPort } from '../../helpers/ports.ts'
import { until } from '../../helpers/until.ts'

/** Seconds at which the time stamps of MPEG-TS begin anew. */
const WRAP = 2 ** 33 / 90_000

it('gives pictures rising times while the clock of MPEG-TS begins anew', async () => {
  const port = await freeUdpPort()
  const sender = startFrameClock(port, 15, WRAP - 5)
  onTestFinished(sender.stop)
  const { video, media } = await playSource(`udp://127.0.0.1:${port}`)
  await media()
  await until(
    () => video.length,
    (count) => count > 180,
    20_000,
  )
  const steps = video.slice(1).map(({ mediaMs }, at) => mediaMs - (video[at]?.mediaMs ?? 0))
  expect(Math.min(...steps), String(steps)).toBeGreaterThan(0)
  expect(Math.max(...steps), String(steps)).toBeLessThan(400)
})
