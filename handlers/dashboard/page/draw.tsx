import { render } from 'preact'
import { Shell } from './shell.tsx'

const page = document.getElementById('page')
if (page !== null) render(<Shell />, page)
