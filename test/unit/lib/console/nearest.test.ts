import { expect, it } from 'vitest'
import { didYouMean, nearest } from '../../../../lib/console/nearest.ts'

it.each([
  ['stpo', 'stop'],
  ['snapshto', 'snapshot'],
  ['delte', 'delete'],
  ['plays', 'play'],
  ['ls', 'ls'],
  ['lss', 'ls'],
  ['xy', undefined],
  ['stopped', undefined],
  ['', undefined],
  ['s'.repeat(100_000), undefined],
])('%.12s was meant to be %s', (word, meant) => {
  expect(nearest(word, ['play', 'stop', 'delete', 'snapshot', 'ls', 'SVC_PORT'])).toBe(meant)
})

it('asks, and takes the nearest of several', () => {
  expect(didYouMean('SVC_PORTS', ['SVC_HOSTS', 'SVC_PORT'])).toBe(' Did you mean SVC_PORT?')
  expect(didYouMean('SVC_OTHER', ['SVC_HOST', 'SVC_PORT'])).toBe('')
})
