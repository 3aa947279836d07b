import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { CredentialRepository, SessionRepository } from '../repositories.ts'
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

/** Admits every request while no password is set; then only a valid session token or API key, otherwise UNAUTHORIZED. */
export const requireAccess = async (deps: AccessDeps, presented: Presented): Promise<void> => {
  if ((await deps.credentials.find()) === undefined) return
  if (await hasApiKey(deps, presented)) return
  if (presented.token !== undefined && (await isLiveToken(deps, presented.token))) return
  throw new ApiError(
    'UNAUTHORIZED',
    'Authentication is required. Send the token of a login in the header Authorization (Bearer), or the API key in the header X-API-Key.',
  )
}

const isLiveToken = async ({ sessions, clock }: AccessDeps, token: string): Promise<boolean> => {
  const session = await sessions.find(await sha256(token))
  return session !== undefined && clock.now() < session.expires_at
}
