import * as v from 'valibot'
import { ERROR_STATUS, type ErrorCode } from '../errors.ts'
import { described } from './primitives.ts'

const CODES = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]

/** Every error body. */
export const errorSchema = v.object({
  message: described(v.string(), 'What is wrong and what to do, for people'),
  code: described(v.picklist(CODES), 'For programs'),
  details: described(
    v.record(v.string(), v.unknown()),
    'Depends on code: issues (list of path and message) of VALIDATION_ERROR, request_id of INTERNAL_ERROR, reason (for programs) of most others, cause (for people) of a failed start',
  ),
})

/** Answer of the trigger endpoints to a missing or wrong API key. */
export const triggerRefusalSchema = v.object({ error: v.literal('Unauthorized') })
