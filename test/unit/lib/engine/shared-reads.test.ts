import { describe, expect, it } from 'vitest'
import { shareReads } from '../../../../lib/engine/shared-reads.ts'

/** A reader whose answers come when the test says so; each tells which question it answers. */
const slowReader = () => {
  const waiting: { key: string; resolve: (value: string) => void; reject: (error: Error) => void }[] = []
  let questions = 0
  const read = shareReads((key) => {
    questions += 1
    const number = questions
    return new Promise<string>((resolve, reject) => {
      waiting.push({ key, resolve: () => resolve(`${key} ${number}`), reject })
    })
  })
  return { read, waiting, count: () => questions }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('shared reads', () => {
  it('never answer with what was read before the question', async () => {
    const { read, waiting } = slowReader()
    const first = read('a')
    const second = read('a')
    waiting.shift()?.resolve('')
    expect(await first).toBe('a 1')
    await turn()
    waiting.shift()?.resolve('')
    expect(await second).toBe('a 2')
  })

  it('let all that ask meanwhile share one answer', async () => {
    const { read, waiting, count } = slowReader()
    const answers = Array.from({ length: 100 }, () => read('a'))
    waiting.shift()?.resolve('')
    await turn()
    waiting.shift()?.resolve('')
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['a 1', 'a 2']))
    expect(count()).toBe(2)
  })

  it('keep different keys apart', async () => {
    const { read, waiting } = slowReader()
    const answers = [read('a'), read('b')]
    for (const { resolve } of waiting) resolve('')
    expect(await Promise.all(answers)).toEqual(['a 1', 'b 2'])
  })

  it('tell a failure to those who shared it, and ask again for the next', async () => {
    const { read, waiting } = slowReader()
    const first = read('a')
    const second = read('a')
    waiting.shift()?.reject(new Error('gone'))
    await expect(first).rejects.toThrow('gone')
    await turn()
    waiting.shift()?.resolve('')
    expect(await second).toBe('a 2')
    await turn()
    const third = read('a')
    waiting.shift()?.resolve('')
    expect(await third).toBe('a 3')
  })

  it('ask at once when nothing is on its way', async () => {
    const { read, waiting, count } = slowReader()
    for (const expected of ['a 1', 'a 2', 'a 3']) {
      const answer = read('a')
      waiting.shift()?.resolve('')
      expect(await answer).toBe(expected)
      await turn()
    }
    expect(count()).toBe(3)
  })
})
