import { describe, expect, it } from 'vitest'
import { shareReads } from '../../../../lib/engine/shared-reads.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Reads that are answered when the test says so, with the number of their request. */
const slowReads = () => {
  const requests: PromiseWithResolvers<string>[] = []
  const read = shareReads((key: string) => {
    const request = Promise.withResolvers<string>()
    const number = requests.push(request)
    return request.promise.then((text) => `${key} ${number}${text}`)
  })
  const settle = async (number: number, error?: Error): Promise<void> => {
    if (error === undefined) requests[number - 1]?.resolve('')
    else requests[number - 1]?.reject(error)
    await turn()
  }
  return { read, settle, count: () => requests.length }
}

describe('shared reads', () => {
  it('never answer with what was read before the call, and share one answer among all calls meanwhile', async () => {
    const { read, settle, count } = slowReads()
    const answers = Array.from({ length: 100 }, () => read('a'))
    await settle(1)
    await settle(2)
    expect([await answers[0], ...new Set(await Promise.all(answers.slice(1)))]).toEqual(['a 1', 'a 2'])
    expect(count()).toBe(2)
  })

  it('keep different arguments apart', async () => {
    const { read, settle } = slowReads()
    const answers = Promise.all([read('a'), read('b')])
    await settle(1)
    await settle(2)
    expect(await answers).toEqual(['a 1', 'b 2'])
  })

  it('fail for the calls that share a failure, and read again for the next', async () => {
    const { read, settle } = slowReads()
    const [first, second] = [read('a'), read('a')]
    const failed = expect(first).rejects.toThrow('gone')
    await settle(1, new Error('gone'))
    await failed
    await settle(2)
    expect(await second).toBe('a 2')
    const third = read('a')
    await settle(3)
    expect(await third).toBe('a 3')
  })
})
