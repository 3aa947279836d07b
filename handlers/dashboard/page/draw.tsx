import { render } from 'preact'
import { keepFocus } from './keep-focus.ts'
import { Shell } from './shell.tsx'

/** Draws the page, in place of its first words. */
export const draw = (): void => {
  const page = document.getElementById('page')
  page?.replaceChildren()
  if (page === null) return
  render(<Shell />, page)
  keepFocus(page)
}
