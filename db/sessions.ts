import { eq, lte, sql } from 'drizzle-orm'
import type { SessionRepository } from '../lib/repositories/repositories.ts'
import { query } from './connect/database-error.ts'
import type { Database } from './open.ts'
import { sessions } from './tables.ts'

/** The login sessions. */
export const createSessionRepository = ({ orm }: Database): SessionRepository => {
  const selectOne = orm
    .select()
    .from(sessions)
    .where(eq(sessions.token_hash, sql.placeholder('token_hash')))
    .prepare()
  return {
    find: (token_hash) => query(() => selectOne.get({ token_hash })),
    insert: (session) =>
      query(async () => {
        await orm.batch([orm.delete(sessions).where(lte(sessions.expires_at, session.created_at)), orm.insert(sessions).values(session)])
      }),
    remove: (token_hash) =>
      query(async () => {
        await orm.delete(sessions).where(eq(sessions.token_hash, token_hash))
      }),
  }
}
