import { expect, it } from 'vitest'
import { createArrivalOrder } from '../../../../lib/triggers/arrival-order.ts'

it('takes what comes in order', () => {
  const order = createArrivalOrder()
  expect([order.take('a', 'play', 1), order.take('a', 'stop', 2), order.take('a', 'play', 3)]).toEqual([true, true, true])
})

it('refuses what a later request of the opposite kind has overtaken, whichever of the two it is', () => {
  const order = createArrivalOrder()
  expect([order.take('a', 'stop', 2), order.take('a', 'play', 1)]).toEqual([true, false])
  expect([order.take('b', 'play', 2), order.take('b', 'stop', 1)]).toEqual([true, false])
})

it('takes two of a kind in any order, and keeps keys apart', () => {
  const order = createArrivalOrder()
  expect([order.take('a', 'play', 2), order.take('a', 'play', 1), order.take('b', 'stop', 1)]).toEqual([true, true, true])
})

it('forgets the oldest keys', () => {
  const order = createArrivalOrder()
  for (let key = 0; key <= 1000; key += 1) order.take(`${key}`, 'stop', 5000 + key)
  expect(order.take('0', 'play', 1)).toBe(true)
  expect(order.take('1000', 'play', 1)).toBe(false)
})
