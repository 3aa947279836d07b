import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { CredentialRepository, SessionRepository } from '../repositories.ts'
import { equalSecrets, sha256 } from './digest.ts'

export interface AccessDeps {
  readonly credentials: CredentialRepository
  readonly sessions: SessionRepository
  /** The key of automation and of the media server; there always is one. */
  readonly apiKey: string
  readonly clock: Clock
}

/** What a request brought along. */
export interface Presented {
  readonly token: string | undefined
  readonly apiKey: string | undefined
}

/** Whether the API key that was sent is the right one; compared in constant time. */
export const hasApiKey = async (deps: Pick<AccessDeps, 'apiKey'>, { apiKey }: Presented): Promise<boolean> =>
  apiKey !== undefined && deps.apiKey !== '' && (await equalSecrets(apiKey, deps.apiKey))

/** Passes everybody while no password is set; afterwards a valid session token or a valid API key, else UNAUTHORIZED. */
export const requireAccess = async (deps: AccessDeps, presented: Presented): Promise<void> => {
  if ((await deps.credentials.find()) === undefined) return
  if (await hasApiKey(deps, presented)) return
  if (presented.token !== undefined && (await isLiveToken(deps, presented.token))) return
  throw new ApiError('UNAUTHORIZED', 'Log in and send the token as Authorization: Bearer, or send the API key as X-API-Key.')
}

const isLiveToken = async ({ sessions, clock }: AccessDeps, token: string): Promise<boolean> => {
  const session = await sessions.find(await sha256(token))
  return session !== undefined && clock.now() < session.expires_at
}
