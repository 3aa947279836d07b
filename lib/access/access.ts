import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { CredentialRepository, SessionRepository } from '../repositories/repositories.ts'
import { equalSecrets, sha256 } from './digest.ts'

export interface AccessDeps {
  readonly credentials: CredentialRepository
  readonly sessions: SessionRepository
  /** The key for automation and for the media server; never empty. */
  readonly apiKey: string
  readonly clock: Clock
}

/** The credentials of a request. */
export interface Presented {
  readonly token: string | undefined
  readonly apiKey: string | undefined
}

/** Whether the request carries the right API key; compared in constant time. */
export const hasApiKey = async (deps: Pick<AccessDeps, 'apiKey'>, { apiKey }: Presented): Promise<boolean> =>
  apiKey !== undefined && deps.apiKey !== '' && (await equalSecrets(apiKey, deps.apiKey))

/** Whether the request carries the API key or the token of a valid session. */
export const isAuthenticated = async (deps: AccessDeps, presented: Presented): Promise<boolean> =>
  (await hasApiKey(deps, presented)) || (await findSession(deps, presented)) !== undefined

/** What admitted a request; `nothing`: no password was set. */
export type Admission = { readonly by: 'api_key' } | { readonly by: 'nothing' } | { readonly by: 'session'; readonly tokenHash: string }

/** Admits every request while no password is set; then only a valid session token or API key, otherwise UNAUTHORIZED. */
export const requireAccess = async (deps: AccessDeps, presented: Presented): Promise<Admission> => {
  const isOpen = (await deps.credentials.find()) === undefined
  if (await hasApiKey(deps, presented)) return { by: 'api_key' }
  if (isOpen) return { by: 'nothing' }
  const tokenHash = await findSession(deps, presented)
  if (tokenHash !== undefined) return { by: 'session', tokenHash }
  throw new ApiError('UNAUTHORIZED', refusalOf(presented))
}

const refusalOf = ({ token, apiKey }: Presented): string => {
  if (apiKey) return 'The API key is wrong. Send that of SVC_API_KEY, or of the file api-key in the data directory of the service.'
  if (token) return 'The token has expired, or its session has ended. Log in for another one.'
  return 'Authentication is required. Send the token of a login in the header Authorization (Bearer), or the API key in the header X-API-Key.'
}

/** Whether the request would still be admitted. A session ends with its password, also when that is removed. */
export const isStillAdmitted = async (deps: AccessDeps, admission: Admission): Promise<boolean> => {
  if (admission.by === 'api_key') return true
  if (admission.by === 'nothing') return (await deps.credentials.find()) === undefined
  return isLive(deps, admission.tokenHash)
}

/** The hash of the token, if that is valid. */
const findSession = async (deps: AccessDeps, { token }: Presented): Promise<string | undefined> => {
  if (token === undefined) return undefined
  const tokenHash = await sha256(token)
  return (await isLive(deps, tokenHash)) ? tokenHash : undefined
}

const isLive = async ({ sessions, clock }: AccessDeps, tokenHash: string): Promise<boolean> => {
  const session = await sessions.find(tokenHash)
  return session !== undefined && clock.now() < session.expires_at
}
