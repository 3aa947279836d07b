import type { Page } from 'playwright-core'
import { until } from '../until.ts'

/** A number for what the live picture shows now; undefined without a picture. */
const pictureOf = (page: Page, within: string): Promise<number | undefined> =>
  page.evaluate((selector) => {
    const shown = document.querySelector<HTMLCanvasElement | HTMLVideoElement | HTMLImageElement>(selector)
    if (shown === null) return undefined
    const copy = Object.assign(document.createElement('canvas'), { width: 64, height: 36 })
    const context = copy.getContext('2d')
    context?.drawImage(shown, 0, 0, 64, 36)
    const { data = [] } = context?.getImageData(0, 0, 64, 36) ?? {}
    let sum = 0
    for (const [index, value] of data.entries()) if (index % 4 === 0) sum = (sum * 31 + value) % 1_000_000_007
    return sum
  }, `${within} .live-surfaces > :not([hidden])`)

const CHANGES = 3

/** Waits until the live picture, of the page or `within` an element, has changed several times. */
export const untilMoving = async (page: Page, patienceMs?: number, within = ''): Promise<void> => {
  const seen = new Set<number>()
  await until(
    async () => {
      const picture = await pictureOf(page, within)
      if (picture !== undefined) seen.add(picture)
      return seen.size
    },
    (size) => size > CHANGES,
    patienceMs,
  )
}
