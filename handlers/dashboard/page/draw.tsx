import { render } from 'preact'
import { keepFocus } from './keep-focus.ts'
import { Shell } from './shell.tsx'

const page = document.getElementById('page')
page?.replaceChildren()
if (page !== null) {
  render(<Shell />, page)
  keepFocus(page)
}
