import { type Configuration, ConfigurationError } from '../configuration/configuration.ts'
import type { Clock, Log, PasswordHasher } from '../ports.ts'
import type { CredentialRepository } from '../repositories/repositories.ts'

interface InitialPasswordDeps {
  readonly credentials: CredentialRepository
  readonly hasher: PasswordHasher
  readonly clock: Clock
  readonly log: Log
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i

/** Whether the API needs a password: other hosts reach it, and the configuration requires one. */
export const isPasswordRequired = ({ host, requirePassword }: Pick<Configuration, 'host' | 'requirePassword'>): boolean =>
  requirePassword && !LOOPBACK.test(host)

/**
 * Sets the password of the configuration where none is stored, so that the API is never open. ConfigurationError as in
 * `requireStoredPassword`.
 */
export const ensurePassword = async (
  configuration: Pick<Configuration, 'host' | 'password' | 'requirePassword'>,
  { credentials, hasher, clock, log }: InitialPasswordDeps,
): Promise<void> => {
  await requireStoredPassword(configuration, credentials)
  const { password } = configuration
  if (password === undefined || (await credentials.find()) !== undefined) return
  await credentials.set(await hasher.hash(password), clock.now())
  log.info('password_set', { from: 'SVC_PASSWORD' })
}

/** ConfigurationError when a password is required and none is stored or configured. */
export const requireStoredPassword = async (
  configuration: Pick<Configuration, 'host' | 'password' | 'requirePassword'>,
  credentials: Pick<CredentialRepository, 'find'>,
): Promise<void> => {
  const { host, password } = configuration
  if (isPasswordRequired(configuration) && password === undefined && (await credentials.find()) === undefined) {
    throw new ConfigurationError(
      `SVC_PASSWORD: no password is stored, and the API would be open to every host that reaches ${host}. Set SVC_PASSWORD, or SVC_HOST=127.0.0.1, or SVC_REQUIRE_PASSWORD=0`,
    )
  }
}
