import { describe, expect, it } from 'vitest'
import { boundHasher } from '../../../../lib/access/bounded-hasher.ts'

const countingHasher = () => {
  const gates: (() => void)[] = []
  const counted = { running: 0, most: 0 }
  const compute = async () => {
    counted.running += 1
    counted.most = Math.max(counted.most, counted.running)
    await new Promise<void>((resolve) => gates.push(resolve))
    counted.running -= 1
  }
  return {
    counted,
    openOne: () => gates.shift()?.(),
    hasher: {
      hash: async () => {
        await compute()
        return 'hash'
      },
      verify: async () => {
        await compute()
        return true
      },
    },
  }
}

describe('a bounded hasher', () => {
  it('runs at most the allowed hashes at once, lets a bounded number wait and refuses the rest', async () => {
    const { hasher, counted, openOne } = countingHasher()
    const bounded = boundHasher(hasher, { running: 2, waiting: 3 })
    const calls = Array.from({ length: 10 }, () => bounded.verify('hash', 'password'))
    const results = Promise.allSettled(calls)
    const settled = { count: 0 }
    for (const call of calls)
      call.then(
        () => {
          settled.count += 1
        },
        () => undefined,
      )
    while (settled.count < 5) {
      openOne()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const outcome = await results
    expect(outcome.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(outcome.filter((result) => result.status === 'rejected' && result.reason.code === 'SERVICE_UNAVAILABLE')).toHaveLength(5)
    expect(counted.most).toBe(2)
  })

  it('continues after a failed hash', async () => {
    const bounded = boundHasher(
      {
        hash: async () => {
          throw new Error('broken')
        },
        verify: async () => true,
      },
      { running: 1, waiting: 1 },
    )
    await expect(bounded.hash('x')).rejects.toThrow('broken')
    expect(await bounded.verify('h', 'x')).toBe(true)
  })
})
