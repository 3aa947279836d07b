import { expect, it } from 'vitest'
import { readProcessStart } from '../../../../lib/engine/process-start.ts'

const stat = (name: string, state: string): string =>
  `4242 (${name}) ${state} 1 4242 4242 0 -1 4194304 100 0 0 0 5 3 0 0 20 0 11 0 987654 1000 200 18446744073709551615`

it('reads boot and start time, whatever the name of the program is', () => {
  for (const name of ['node', 'a b', '1) R 2 (x', 'x) Z']) expect(readProcessStart('a-boot\n', stat(name, 'S'))).toBe('a-boot:987654')
})

it('knows none of a process that has ended', () => {
  for (const state of ['Z', 'X']) expect(readProcessStart('a-boot\n', stat('node', state))).toBeUndefined()
  expect(readProcessStart('a-boot\n', '')).toBeUndefined()
})
