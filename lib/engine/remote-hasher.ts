import type { PasswordHasher } from '../ports.ts'
import type { EngineCaller } from './client.ts'

/** A hash waits for its turn behind others, milliseconds. */
const HASH_MS = 15_000

/** The PasswordHasher port over the engine, for hosts that cannot run argon2 themselves. SERVICE_UNAVAILABLE without the engine. */
export const createRemoteHasher = ({ call }: Pick<EngineCaller, 'call'>): PasswordHasher => ({
  hash: async (password) => (await call<{ hash: string }>('POST', '/passwords/hash', { password }, HASH_MS)).hash,
  verify: async (hash, password) => (await call<{ matches: boolean }>('POST', '/passwords/verify', { hash, password }, HASH_MS)).matches,
})
