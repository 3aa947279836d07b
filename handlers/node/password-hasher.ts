import { hash, verify } from '@node-rs/argon2'
import { ARGON2ID } from '../../lib/access/argon2id.ts'
import type { PasswordHasher } from '../../lib/ports.ts'

/** Hashes passwords in libuv's thread pool, off the event loop. */
export const createPasswordHasher = (): PasswordHasher => ({
  hash: (password) => hash(password, ARGON2ID),
  verify: (phc, password) => verify(phc, password),
})
