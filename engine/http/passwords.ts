import { hash, verify } from '@node-rs/argon2'
import { ARGON2ID } from '../../lib/access/argon2id.ts'
import { boundHasher } from '../../lib/access/bounded-hasher.ts'
import type { Answers } from './dispatch.ts'

/** Password hashing for API processes whose runtime has no argon2. */
export const passwordAnswers = (): Answers<'passwords'> => {
  // This process carries the streams, so few hashes at once.
  const hasher = boundHasher({
    hash: (text) => hash(text, ARGON2ID),
    verify: (phc, text) => verify(phc, text),
  })
  return {
    hash: async ({ password }) => ({ hash: await hasher.hash(password) }),
    verify: async (given) => ({ matches: await hasher.verify(given.hash, given.password) }),
  }
}
