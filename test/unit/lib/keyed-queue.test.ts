import { expect, it } from 'vitest'
import { createKeyedQueue } from '../../../lib/keyed-queue.ts'

it('a keyed queue runs one task of a key at a time, and refuses those beyond 64', async () => {
  const queue = createKeyedQueue()
  const gate = Promise.withResolvers<void>()
  const begun: number[] = []
  const task = (number: number) => () => {
    begun.push(number)
    return gate.promise
  }
  const tasks = Array.from({ length: 64 }, (_, number) => queue('k', task(number)))
  await expect(queue('k', async () => 'late')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { reason: 'busy' } })
  expect(begun).toEqual([0])
  expect(await queue('other', async () => 'done')).toBe('done')
  gate.resolve()
  await Promise.all(tasks)
})
