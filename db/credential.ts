import type { CredentialRepository } from '../lib/repositories/repositories.ts'
import { query } from './connect/database-error.ts'
import type { Database } from './open.ts'
import { credential, sessions } from './tables.ts'

/** The hash of the password, while one is set. */
export const createCredentialRepository = ({ orm }: Database): CredentialRepository => ({
  find: () => query(async () => (await orm.select({ hash: credential.password_hash }).from(credential))[0]?.hash),
  set: (password_hash, updated_at) =>
    query(async () => {
      const write = orm
        .insert(credential)
        .values({ id: 1, password_hash, updated_at })
        .onConflictDoUpdate({ target: credential.id, set: { password_hash, updated_at } })
      await orm.batch([write, orm.delete(sessions)])
    }),
  clear: () =>
    query(async () => {
      await orm.batch([orm.delete(credential), orm.delete(sessions)])
    }),
})
