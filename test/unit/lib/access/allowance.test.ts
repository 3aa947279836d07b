import { expect, it } from 'vitest'
import { Allowance, ClientAllowances } from '../../../../lib/access/allowance.ts'

it('an allowance is used at once or over time, and comes back with time', () => {
  const allowance = new Allowance({ perSecond: 10, burst: 100 }, 0)
  expect([allowance.use(100, 0), allowance.use(1, 0)]).toEqual([true, false])
  expect([allowance.use(9, 1000), allowance.use(1, 1000)]).toEqual([true, false])
  // No more than a burst, however long nothing was used.
  expect([allowance.use(100, 1e9), allowance.use(1, 1e9)]).toEqual([true, false])
})

it('who uses far too much waits until a burst has come back, and no longer', () => {
  const allowance = new Allowance({ perSecond: 10, burst: 100 }, 0)
  allowance.use(1e9, 0)
  expect([allowance.use(0, 9_999), allowance.use(0, 10_000)]).toEqual([false, true])
})

it('each client has an allowance of its own, this host a larger one, and only so many are remembered', () => {
  const clients = new ClientAllowances({ perSecond: 1, burst: 10 }, 2)
  expect(clients.use('192.0.2.1', 11, 0)).toBe(false)
  expect(clients.use('192.0.2.2', 10, 0)).toBe(true)
  expect(clients.use('127.0.0.1', 40, 0)).toBe(true)
  // 192.0.2.1 was dropped for it.
  expect(clients.use('192.0.2.1', 10, 0)).toBe(true)
})
