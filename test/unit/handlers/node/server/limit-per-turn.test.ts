import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { limitPerTurn } from '../../../../../handlers/node/server/limit-per-turn.ts'

it('runs calls at once when there are few, and in order over the next turns when there are many', async () => {
  const called: number[] = []
  const call = limitPerTurn((at: number) => void called.push(at), 3)
  for (let at = 0; at < 100; at += 1) call(at)
  for (let count = 3; count < 100; count += 3) {
    expect(called).toHaveLength(count)
    await setImmediate()
  }
  call(100)
  await setImmediate()
  await setImmediate()
  call(101)
  expect(called).toEqual(Array.from({ length: 102 }, (_, at) => at))
})
