import { ApiError } from '../errors.ts'
import type { PasswordHasher } from '../ports.ts'

interface HasherBounds {
  /** Hashes computed at once; each takes a core and, with argon2id, tens of megabytes. */
  readonly running: number
  /** Callers that may wait; more are refused at once. */
  readonly waiting: number
}

const BOUNDS: HasherBounds = { running: 2, waiting: 32 }

/** Bounds how many hashes run at once and how many callers wait; SERVICE_UNAVAILABLE beyond. */
export const boundHasher = (hasher: PasswordHasher, bounds: HasherBounds = BOUNDS): PasswordHasher => {
  const waiting: (() => void)[] = []
  let running = 0
  const take = async (): Promise<void> => {
    if (running < bounds.running) {
      running += 1
      return
    }
    if (waiting.length >= bounds.waiting) {
      throw new ApiError('SERVICE_UNAVAILABLE', 'Too many logins at once. Try again in a moment.', { reason: 'busy' })
    }
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
  const inTurn = async <T>(compute: () => Promise<T>): Promise<T> => {
    await take()
    try {
      return await compute()
    } finally {
      release()
    }
  }
  return {
    hash: (password) => inTurn(() => hasher.hash(password)),
    verify: (hash, password) => inTurn(() => hasher.verify(hash, password)),
  }
}
