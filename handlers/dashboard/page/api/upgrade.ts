import { effect, signal } from '@preact/signals'
import { connected } from './pipelines.ts'

/** Why this page should be reloaded; undefined while it is current. */
export const outdated = signal<string | undefined>(undefined)

const UPGRADED = 'The service has another version now. This page is still the previous one.'
const INCOMPLETE = 'A part of this page could not be loaded.'

const scriptOf = (page: Document): string | null | undefined => page.querySelector('script[type="module"]')?.getAttribute('src')

/** Compares this page with the one that the service has now, by the names of their scripts, which are hashes. */
const compare = async (): Promise<void> => {
  const answer = await fetch(document.baseURI, { cache: 'no-store' })
  if (!answer.ok) return
  const fresh = scriptOf(new DOMParser().parseFromString(await answer.text(), 'text/html'))
  // A page without a script comes from a proxy.
  if (typeof fresh === 'string' && fresh !== scriptOf(document)) outdated.value = UPGRADED
}

/** Checks for an upgrade whenever the connection is back. */
export const watchUpgrades = (): void => {
  let wasAway = false
  effect(() => {
    if (connected.value === true && wasAway) compare().catch(() => {})
    wasAway = connected.value === false
  })
}

/** A part of the page that is loaded on demand; undefined, with a message on the page, when that fails. */
export const loadPart = async <T>(part: Promise<T>): Promise<T | undefined> => {
  try {
    return await part
  } catch {
    outdated.value ??= INCOMPLETE
    return undefined
  }
}
