import { ApiError } from './errors.ts'

/** Most operations that wait for one key; more are refused. */
const MAX_WAITING = 64

export interface KeyedQueue {
  <T>(key: string, task: () => Promise<T>): Promise<T>
  /** Whether a task of this key runs. */
  isBusy(key: string): boolean
}

/** Runs the tasks of one key one after the other; tasks of different keys run at once. */
export const createKeyedQueue = (): KeyedQueue => {
  const tails = new Map<string, { last: Promise<unknown>; waiting: number }>()
  const run = async <T>(key: string, task: () => Promise<T>): Promise<T> => {
    const entry = tails.get(key) ?? { last: Promise.resolve(), waiting: 0 }
    if (entry.waiting >= MAX_WAITING) {
      throw new ApiError('SERVICE_UNAVAILABLE', 'Too many changes are waiting. Try again in a moment.', { reason: 'busy' })
    }
    tails.set(key, entry)
    entry.waiting += 1
    const turn = entry.last.then(task)
    entry.last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      entry.waiting -= 1
      if (entry.waiting === 0) tails.delete(key)
    }
  }
  return Object.assign(run, { isBusy: (key: string) => tails.has(key) })
}
