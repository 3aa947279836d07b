import { effect, signal } from '@preact/signals'
import { connected } from './pipelines.ts'

/** Why this page should be loaded anew; undefined while all is well. */
export const outdated = signal<string | undefined>(undefined)

const UPGRADED = 'The service has another version now, and this page is still of the one before.'
const INCOMPLETE = 'A part of this page could not be loaded.'

const scriptOf = (page: Document): string | null | undefined => page.querySelector('script[type="module"]')?.getAttribute('src')

/** Compares this page with the one that the service has now: scripts are named by their content. */
const compare = async (): Promise<void> => {
  const answer = await fetch(document.baseURI, { cache: 'no-store' })
  if (!answer.ok) return
  const fresh = scriptOf(new DOMParser().parseFromString(await answer.text(), 'text/html'))
  // What has no script is the page of a proxy.
  if (typeof fresh === 'string' && fresh !== scriptOf(document)) outdated.value = UPGRADED
}

/** Looks for an upgrade whenever the service is back. */
export const watchUpgrades = (): void => {
  let wasAway = false
  effect(() => {
    if (connected.value === true && wasAway) compare().catch(() => {})
    wasAway = connected.value === false
  })
}

/** A part of the page that is loaded when it is needed; undefined when it cannot be, which the page then says. */
export const loadPart = async <T>(part: Promise<T>): Promise<T | undefined> => {
  try {
    return await part
  } catch {
    outdated.value ??= INCOMPLETE
    return undefined
  }
}
