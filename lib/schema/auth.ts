import * as v from 'valibot'
import { described, time } from './primitives.ts'

const LENGTH = 'Use 1 to 1024 characters'

/** Body of a login and of a change of the password. */
export const passwordSchema = v.strictObject({
  password: v.pipe(v.string('Use a string'), v.minLength(1, LENGTH), v.maxLength(1024, LENGTH)),
})

/** Answer of the status and of a change of the password. */
export const authStatusSchema = v.object({ auth_enabled: described(v.boolean(), 'Whether a password is set') })

/** Answer of a login. */
export const sessionSchema = v.object({
  token: described(v.string(), 'Token for Authorization: Bearer'),
  expires: described(time, 'End of the session, ISO 8601 UTC'),
})
