import { availableParallelism } from 'node:os'
import { ApiError } from '../../../lib/errors.ts'
import { createSlots, type Slots } from '../../../lib/slots.ts'

/** One decoder per two processors for all pipelines of a host, so that screenshots never slow down the streams. */
const HOST = { running: Math.max(1, Math.floor(availableParallelism() / 2)), waiting: 256 }

/** Slots for decoders; SERVICE_UNAVAILABLE when too many jobs wait already. */
export const createDecodeSlots = (bounds: { readonly running: number; readonly waiting: number } = HOST): Slots =>
  createSlots({ ...bounds, refusal: busy })

const busy = (): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', 'Too many screenshots are being decoded. Try again in a moment.', { reason: 'busy' })
