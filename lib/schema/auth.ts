import * as v from 'valibot'
import { charactersOf, described, time } from './primitives.ts'

const password = (least: number) => {
  const advice = `Use ${least} to 1024 characters`
  return v.pipe(
    v.string('Use a string'),
    v.check((text) => charactersOf(text) >= least, advice),
    v.maxLength(1024, advice),
    v.metadata({ minLength: least }),
  )
}

/** Body of a login: earlier versions stored shorter passwords. */
export const loginSchema = v.strictObject({ password: password(1) })

/** Body of a change of the password. */
export const passwordSchema = v.strictObject({ password: password(8) })

/** Answer of the status and of a change of the password. */
export const authStatusSchema = v.object({ auth_enabled: described(v.boolean(), 'Whether a password is set') })

/** Answer of a login. */
export const sessionSchema = v.object({
  token: described(v.string(), 'Token for Authorization: Bearer'),
  expires: described(time, 'End of the session, ISO 8601 UTC'),
})
