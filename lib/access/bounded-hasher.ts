import { ApiError } from '../errors.ts'
import type { PasswordHasher } from '../ports.ts'
import { createSlots } from '../slots.ts'

interface HasherBounds {
  /** Hashes computed at once; each takes a core and, with argon2id, 19 MiB. */
  readonly running: number
  /** Callers that may wait. */
  readonly waiting: number
}

const BOUNDS: HasherBounds = { running: 2, waiting: 32 }

/** A hasher with bounds; SERVICE_UNAVAILABLE when too many callers wait. */
export const boundHasher = (hasher: PasswordHasher, bounds: HasherBounds = BOUNDS): PasswordHasher => {
  const slots = createSlots({ ...bounds, refusal: tooMany })
  return {
    hash: (password) => slots.run(() => hasher.hash(password)),
    verify: (hash, password) => slots.run(() => hasher.verify(hash, password)),
  }
}

const tooMany = (): ApiError => new ApiError('SERVICE_UNAVAILABLE', 'Too many logins at once. Try again in a moment.', { reason: 'busy' })
