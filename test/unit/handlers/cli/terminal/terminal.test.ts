import { expect, it } from 'vitest'
import { openTerminal } from '../../../../../handlers/cli/terminal/terminal.ts'

const sizeOf = (stream: Partial<NodeJS.WriteStream>): readonly [columns: number, rows: number] => {
  const { columns, rows } = openTerminal(stream as NodeJS.WriteStream, {})
  return [columns, rows]
}

it('has the size of the terminal', () => {
  expect(sizeOf({ isTTY: true, columns: 132, rows: 50 })).toEqual([132, 50])
})

it('has the usual size in a terminal that does not know its own', () => {
  expect(sizeOf({ isTTY: true, columns: 0, rows: 0 })).toEqual([80, 24])
})

it('has no bounds in a pipe', () => {
  expect(sizeOf({})).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
})
