import { expect, it } from 'vitest'
import { openTerminal } from '../../../../../handlers/cli/terminal/terminal.ts'

it.each([
  ['the reported size', { isTTY: true, columns: 132, rows: 50 }, [132, 50]],
  ['80 × 24 in a terminal that reports no size', { isTTY: true, columns: 0, rows: 0 }, [80, 24]],
  ['no bounds in a pipe', {}, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]],
])('has %s', (_, stream, size) => {
  const { columns, rows } = openTerminal(stream as NodeJS.WriteStream, {})
  expect([columns, rows]).toEqual(size)
})
