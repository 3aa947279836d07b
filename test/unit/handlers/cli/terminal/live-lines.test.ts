import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { LiveLines } from '../../../../../handlers/cli/terminal/live-lines.ts'

const drawnOn = (rows: number, lines: readonly string[]): string[] => {
  const written: string[] = []
  const stream = { rows, write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream
  new LiveLines(stream).draw(lines)
  return stripVTControlCharacters(written.join('')).trim().split('\n')
}

it('counts the lines that have no room in a low terminal', () => {
  const lines = ['one', 'two', 'three', 'four']
  expect(drawnOn(5, lines)).toEqual(lines)
  expect(drawnOn(4, lines)).toEqual(['one', 'two', '… 2 more lines'])
  expect(drawnOn(2, lines)).toEqual(['… 4 more lines'])
})

it('assumes 24 rows in a terminal that reports none', () => {
  const lines = Array.from({ length: 30 }, (_, at) => `line ${at}`)
  expect(drawnOn(0, lines)).toEqual([...lines.slice(0, 22), '… 8 more lines'])
})
