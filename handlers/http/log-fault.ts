import type { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'

/** The request that failed; no query, which may hold a secret. */
interface Failed {
  readonly request_id: string | undefined
  readonly method: string
  readonly path: string
}

/** Logs a failing database; the loss of the engine is logged by its link. */
export const logDatabaseFault = (error: ApiError, failed: Failed, log: Log): void => {
  if (error.details.reason === 'database') log.error('database_failed', { ...failed, error: chainOf(error) })
}

/** Logs an error whose answer has no details. */
export const logFault = (error: unknown, failed: Failed, log: Log): void =>
  log.error('request_failed', { ...failed, code: 'INTERNAL_ERROR', error: chainOf(error) })

/** Most causes of one error in a log line. */
const MAX_CAUSES = 5

const chainOf = (error: unknown): string[] => {
  const chain: string[] = []
  for (let at = error; at !== undefined && chain.length < MAX_CAUSES; at = at instanceof Error ? at.cause : undefined) {
    chain.push(at instanceof Error ? (at.stack ?? at.message) : String(at))
  }
  return chain
}
