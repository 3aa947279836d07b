import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { limitPerTurn } from '../../../../../handlers/node/server/limit-per-turn.ts'

describe('calls limited per turn', () => {
  it('run at once when there are few, and in order over the next turns when there are many', async () => {
    const called: number[] = []
    const call = limitPerTurn((at: number) => called.push(at), 3)
    for (let at = 0; at < 8; at += 1) call(at)
    expect(called).toEqual([0, 1, 2])
    await setImmediate()
    expect(called).toEqual([0, 1, 2, 3, 4, 5])
    call(8)
    await setImmediate()
    expect(called).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
    await setImmediate()
    await setImmediate()
    call(9)
    expect(called).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('all run, however many wait', async () => {
    const called: number[] = []
    const call = limitPerTurn((at: number) => {
      called.push(at)
    }, 1)
    for (let at = 0; at < 100; at += 1) call(at)
    for (let turn = 0; turn < 100; turn += 1) await setImmediate()
    expect(called).toEqual(Array.from({ length: 100 }, (_, at) => at))
  })
})
