import { hash, verify } from '@node-rs/argon2'
import * as v from 'valibot'
import { ARGON2ID } from '../../lib/access/argon2id.ts'
import { boundHasher } from '../../lib/access/bounded-hasher.ts'
import type { PasswordHasher } from '../../lib/ports.ts'
import { validate } from '../../lib/validate.ts'
import type { EngineRoute } from './server.ts'

const password = v.pipe(v.string(), v.maxLength(1024))
const hashBody = v.strictObject({ password })
const verifyBody = v.strictObject({ password, hash: v.pipe(v.string(), v.maxLength(512), v.startsWith('$argon2id$')) })

/** Password hashing for API processes whose runtime has no argon2; nothing is kept here. */
export const passwordRoutes = (): readonly EngineRoute[] => {
  // This process carries the streams, so few hashes at once.
  const hasher: PasswordHasher = boundHasher({
    hash: (text) => hash(text, ARGON2ID),
    verify: (phc, text) => verify(phc, text),
  })
  return [
    {
      method: 'POST',
      path: /^\/passwords\/hash$/,
      answer: async ({ body }) => ({ hash: await hasher.hash(validate(hashBody, await body(), 'body').password) }),
    },
    {
      method: 'POST',
      path: /^\/passwords\/verify$/,
      answer: async ({ body }) => {
        const given = validate(verifyBody, await body(), 'body')
        return { matches: await hasher.verify(given.hash, given.password) }
      },
    },
  ]
}
