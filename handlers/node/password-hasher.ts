import { hash, verify } from '@node-rs/argon2'
import type { PasswordHasher } from '../../lib/ports.ts'

/** argon2id with the parameters OWASP names first: 19 MiB, two passes, one lane; about 20 ms on a small core, off the event loop. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

/** Hashes passwords in libuv's thread pool. */
export const createPasswordHasher = (): PasswordHasher => ({
  hash: (password) => hash(password, PARAMETERS),
  verify: (phc, password) => verify(phc, password),
})
