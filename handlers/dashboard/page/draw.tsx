import { render } from 'preact'
import { Shell } from './shell.tsx'

const page = document.getElementById('page')
page?.replaceChildren()
if (page !== null) render(<Shell />, page)
