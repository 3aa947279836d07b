import { expect, it } from 'vitest'
import { createArrivalOrder } from '../../../../lib/triggers/arrival-order.ts'

it('accepts requests in order', () => {
  const order = createArrivalOrder()
  expect([order.take('a', 'play', 1), order.take('a', 'stop', 2), order.take('a', 'play', 3)]).toEqual([true, true, true])
})

it('refuses a request when a later one of the opposite kind was accepted', () => {
  const order = createArrivalOrder()
  expect([order.take('a', 'stop', 2), order.take('a', 'play', 1)]).toEqual([true, false])
  expect([order.take('b', 'play', 2), order.take('b', 'stop', 1)]).toEqual([true, false])
})

it('accepts two of a kind in any order, and separates keys', () => {
  const order = createArrivalOrder()
  expect([order.take('a', 'play', 2), order.take('a', 'play', 1), order.take('b', 'stop', 1)]).toEqual([true, true, true])
})

it('drops the oldest keys', () => {
  const order = createArrivalOrder()
  for (let key = 0; key <= 1000; key += 1) order.take(`${key}`, 'stop', 5000 + key)
  expect(order.take('0', 'play', 1)).toBe(true)
  expect(order.take('1000', 'play', 1)).toBe(false)
})
