import * as v from 'valibot'
import { ERROR_STATUS, type ErrorCode } from '../errors.ts'
import { described } from './primitives.ts'

const CODES = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]]

/** The one shape of an error body. */
export const errorSchema = v.object({
  message: described(v.string(), 'What happened and what to do, for people'),
  code: described(v.picklist(CODES), 'For programs'),
  details: described(
    v.record(v.string(), v.unknown()),
    'More about it: issues (a list of path and message) of a VALIDATION_ERROR, reason of a CONFLICT or SERVICE_UNAVAILABLE, cause of a failed start',
  ),
})

/** How the trigger endpoints refuse a missing or wrong API key. */
export const triggerRefusalSchema = v.object({ error: v.literal('Unauthorized') })
