import { render } from 'preact'
import { Shell } from './shell.tsx'
import { keepFocus } from './ui/keep-focus.ts'

const page = document.getElementById('page')
page?.replaceChildren()
if (page !== null) {
  render(<Shell />, page)
  keepFocus(page)
}
