import { ApiError } from './errors.ts'
import { createKeyedSlots, type KeyedSlots } from './slots.ts'

/** Runs the tasks of one key one after the other; tasks of different keys run at once. */
export type KeyedQueue = KeyedSlots

/** Refuses tasks of a key for which 64 run or wait. */
export const createKeyedQueue = (): KeyedQueue => createKeyedSlots(() => ({ running: 1, waiting: 63, refusal: busy }))

const busy = (): ApiError => new ApiError('SERVICE_UNAVAILABLE', 'Too many changes are waiting. Try again in a moment.', { reason: 'busy' })
