import { ApiError } from '../errors.ts'
import type { KeyedQueue } from '../keyed-queue.ts'
import type { PasswordHasher } from '../ports.ts'
import { loginSchema, passwordSchema } from '../schema/auth.ts'
import { validate } from '../validate.ts'
import { type AccessDeps, type Presented, requireAccess } from './access.ts'
import { randomToken, sha256 } from './digest.ts'

export interface SessionDeps extends AccessDeps {
  /** Bounded: see `boundHasher`. */
  readonly hasher: PasswordHasher
  readonly changes: KeyedQueue
  /** Whether the password may be changed, but not removed. */
  readonly passwordRequired?: boolean
}

/** How long a token is valid, milliseconds. */
const SESSION_MS = 24 * 60 * 60 * 1000

/** Key in the queue of changes; no pipeline id has a blank. */
const QUEUE = ' password'

/** Whether a password is set. */
export const isAuthEnabled = async ({ credentials }: Pick<AccessDeps, 'credentials'>): Promise<boolean> =>
  (await credentials.find()) !== undefined

/** Begins a session of 24 hours. VALIDATION_ERROR, the same for a wrong password and for none set. */
export const login = async (deps: SessionDeps, input: unknown): Promise<{ token: string; expires: string }> => {
  const { password } = validate(loginSchema, input, 'login')
  const hash = await deps.credentials.find()
  if (hash === undefined || !(await deps.hasher.verify(hash, password))) throw refused()
  return deps.changes(QUEUE, async () => {
    // The password may have changed during the verification, which ends the sessions of the old one.
    if ((await deps.credentials.find()) !== hash) throw refused()
    const token = randomToken()
    const created_at = deps.clock.now()
    const expires_at = created_at + SESSION_MS
    await deps.sessions.insert({ token_hash: await sha256(token), created_at, expires_at })
    return { token, expires: new Date(expires_at).toISOString() }
  })
}

/** Ends the session of the token that was sent, if any. */
export const logout = async ({ sessions }: AccessDeps, { token }: Presented): Promise<void> => {
  if (token !== undefined) await sessions.remove(await sha256(token))
}

/** Sets or changes the password and ends every session. */
export const setPassword = async (deps: SessionDeps, presented: Presented, input: unknown): Promise<void> => {
  const { password } = validate(passwordSchema, input, 'password')
  const hash = await deps.hasher.hash(password)
  await deps.changes(QUEUE, async () => {
    // Checked again: of two requests that set the first password at once, the second needs the new credentials.
    await requireAccess(deps, presented)
    await deps.credentials.set(hash, deps.clock.now())
  })
}

/** Removes the password and every session, which switches authentication off; CONFLICT where a password is required. */
export const removePassword = async (deps: SessionDeps, presented: Presented): Promise<void> =>
  deps.changes(QUEUE, async () => {
    await requireAccess(deps, presented)
    if (deps.passwordRequired === true) throw passwordRequired()
    await deps.credentials.clear()
  })

const passwordRequired = (): ApiError =>
  new ApiError('CONFLICT', 'A password is required here (SVC_REQUIRE_PASSWORD). Change it with PUT auth/password.', {
    reason: 'password_required',
  })

const refused = (): ApiError => new ApiError('VALIDATION_ERROR', 'Login failed. Check the password.', { issues: [] })
