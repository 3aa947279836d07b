import * as v from 'valibot'
import { CODECS } from './pipeline.ts'
import { integerBetween, oneOf } from './primitives.ts'

/** The license file. */
export const licenseSchema = v.strictObject({
  licensee: v.pipe(v.string('Use a string'), v.minLength(1, 'Name the licensee'), v.maxLength(256, 'Use at most 256 characters')),
  codecs: v.array(oneOf(CODECS), 'Use a list of codecs'),
  max_streams: v.optional(v.nullable(integerBetween(0, 1000000)), null),
  expires: v.optional(
    v.nullable(
      v.pipe(
        v.string('Use a date such as 2027-01-31'),
        v.check((date) => /^\d{4}-\d{2}-\d{2}/.test(date) && !Number.isNaN(Date.parse(date)), 'Use a date such as 2027-01-31'),
      ),
    ),
    null,
  ),
})

/** The state of the license file. */
export const licenseStateSchema = v.variant('status', [
  v.strictObject({ status: v.picklist(['unlimited', 'unreadable', 'expired']) }),
  v.strictObject({ status: v.literal('valid'), license: licenseSchema }),
])

export type LicenseState = v.InferOutput<typeof licenseStateSchema>
export type License = v.InferOutput<typeof licenseSchema>
