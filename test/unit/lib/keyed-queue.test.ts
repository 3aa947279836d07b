import { describe, expect, it } from 'vitest'
import { createKeyedQueue } from '../../../lib/keyed-queue.ts'

describe('a keyed queue', () => {
  it('runs the tasks of one key one after the other, in order, also after a failure', async () => {
    const queue = createKeyedQueue()
    const seen: string[] = []
    const task =
      (name: string, fails = false) =>
      async () => {
        seen.push(`${name} begins`)
        await Promise.resolve()
        seen.push(`${name} ends`)
        if (fails) throw new Error(name)
        return name
      }
    const results = await Promise.allSettled([queue('k', task('a')), queue('k', task('b', true)), queue('k', task('c'))])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  })

  it('does not let one key wait for another', async () => {
    const queue = createKeyedQueue()
    const gate = Promise.withResolvers<void>()
    const slow = queue('slow', () => gate.promise)
    expect(await queue('quick', async () => 'done')).toBe('done')
    gate.resolve()
    await slow
  })

  it('refuses more than 64 waiting tasks, and accepts tasks again afterwards', async () => {
    const queue = createKeyedQueue()
    const gate = Promise.withResolvers<void>()
    const waiting = Array.from({ length: 64 }, () => queue('k', () => gate.promise))
    await expect(queue('k', async () => 'late')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    gate.resolve()
    await Promise.all(waiting)
    expect(await queue('k', async () => 'next')).toBe('next')
  })
})
