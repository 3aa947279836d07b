import { render } from 'preact'
import { begin, Shell } from './shell.tsx'

begin()
const page = document.getElementById('page')
if (page !== null) render(<Shell />, page)
