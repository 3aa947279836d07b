import { describe, expect, it } from 'vitest'
import { createKeyedSlots, createReservations, createSlots, Tally } from '../../../lib/slots.ts'

const refusal = () => new Error('too many')

/** Jobs that end when they are released, and what they did. */
const createJobs = () => {
  const seen: string[] = []
  const gates = new Map<string, PromiseWithResolvers<void>>()
  return {
    seen,
    job: (name: string) => async () => {
      seen.push(`${name} begins`)
      const gate = Promise.withResolvers<void>()
      gates.set(name, gate)
      await gate.promise
      seen.push(`${name} ends`)
      return name
    },
    end: (name: string) => gates.get(name)?.resolve(),
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('slots', () => {
  it('run a bounded number of jobs, let a bounded number wait in order, and refuse the rest', async () => {
    const { seen, job, end } = createJobs()
    const slots = createSlots({ running: 2, waiting: 2, refusal })
    const results = ['a', 'b', 'c', 'd'].map((name) => slots.run(job(name)))
    await expect(slots.run(job('e'))).rejects.toThrow('too many')
    expect(seen).toEqual(['a begins', 'b begins'])
    for (const name of ['b', 'a', 'c', 'd']) {
      end(name)
      await turn()
    }
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd'])
    expect(seen).toEqual(['a begins', 'b begins', 'b ends', 'c begins', 'a ends', 'd begins', 'c ends', 'd ends'])
    expect(slots.idle).toBe(true)
  })

  it('are free again after a job that failed', async () => {
    const slots = createSlots({ running: 1, waiting: 1, refusal })
    const failed = slots.run(() => Promise.reject(new Error('broken')))
    const next = slots.run(async () => 'next')
    await expect(failed).rejects.toThrow('broken')
    expect(await next).toBe('next')
  })

  it('with keys are separate for each key, which is busy until its last job has ended', async () => {
    const { seen, job, end } = createJobs()
    const slots = createKeyedSlots((key) => ({ running: 1, waiting: key === 'wide' ? 1 : 0, refusal }))
    const jobs = [slots('narrow', job('a')), slots('wide', job('b')), slots('wide', job('c'))]
    await expect(slots('narrow', job('d'))).rejects.toThrow('too many')
    expect(seen).toEqual(['a begins', 'b begins'])
    end('a')
    end('b')
    await turn()
    expect([slots.isBusy('narrow'), slots.isBusy('wide')]).toEqual([false, true])
    end('c')
    expect(await Promise.all(jobs)).toEqual(['a', 'b', 'c'])
    expect(slots.isBusy('wide')).toBe(false)
  })
})

it('a tally counts by key until each is released, once, and forgets keys without any', () => {
  const tally = new Tally()
  const [first] = [tally.add('k'), tally.add('k'), tally.add('other')]
  first?.()
  first?.()
  expect([tally.of('k'), tally.of('other'), tally.of('none')]).toEqual([1, 1, 0])
  tally.add('k')()
  expect(tally.keys).toEqual(['k', 'other'])
})

describe('reservations', () => {
  const bounded = (most: number) => {
    const reserve = createReservations()
    return (id: string, look: () => Promise<readonly string[]> = async () => []) =>
      reserve(id, async () => ({
        taken: await look(),
        requireFree: (others) => {
          if (others >= most) throw refusal()
        },
      }))
  }

  it('keep to the bound while many come at once, and free a place when released', async () => {
    const reserve = bounded(2)
    const results = await Promise.allSettled(['a', 'b', 'c'].map((id) => reserve(id)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    if (results[0]?.status === 'fulfilled') results[0].value.release()
    await expect(reserve('c')).resolves.toBeDefined()
    await expect(reserve('d')).rejects.toThrow('too many')
  })

  it('count an id once, whether it is reserved, listed or both', async () => {
    const reserve = bounded(2)
    await reserve('a', async () => ['a', 'b'])
    await expect(reserve('b', async () => ['a', 'b'])).resolves.toBeDefined()
    await expect(reserve('c', async () => ['a'])).rejects.toThrow('too many')
  })

  it('count what leaves its reservation during the look and is not listed yet', async () => {
    const reserve = bounded(1)
    const before = await reserve('a')
    const late = reserve('b', async () => {
      before.release()
      return []
    })
    await expect(late).rejects.toThrow('too many')
  })
})
