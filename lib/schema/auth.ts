import * as v from 'valibot'

const LENGTH = 'Use 1 to 1024 characters'

/** Body of a login and of a change of the password. */
export const passwordSchema = v.strictObject({
  password: v.pipe(v.string('Use a string'), v.minLength(1, LENGTH), v.maxLength(1024, LENGTH)),
})
