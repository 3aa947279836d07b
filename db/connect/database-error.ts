import { DrizzleQueryError } from 'drizzle-orm'
import { ApiError } from '../../lib/errors.ts'

/** The database cannot be used; the message is for the operator. */
export class DatabaseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseError'
  }
}

const NOT_A_DATABASE = new Set(['SQLITE_NOTADB', 'SQLITE_CORRUPT'])
const NOT_OPENED = new Set(['SQLITE_CANTOPEN', 'SQLITE_PERM', 'SQLITE_READONLY', 'SQLITE_AUTH'])
// The native add-on gives no code for a file that it cannot open.
const NOT_CONNECTED = /unable to open/i

const codeOf = (error: unknown): string => {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}

/** Why a database could not be opened, for the operator. */
export const openingError = (place: string, error: unknown): DatabaseError => {
  if (error instanceof DatabaseError) return error
  const code = codeOf(error)
  const [primary = code] = /^SQLITE_[A-Z]+/.exec(code) ?? []
  if (NOT_A_DATABASE.has(primary))
    return new DatabaseError(`${place} is damaged or not a database. Restore it, or move it away to start with an empty one.`, {
      cause: error,
    })
  if (NOT_OPENED.has(primary) || (error instanceof Error && NOT_CONNECTED.test(error.message)))
    return new DatabaseError(`${place} cannot be opened. Check that its folder exists and is writable.`, { cause: error })
  return new DatabaseError(`${place} cannot be used (${code || 'unknown reason'}).`, { cause: error })
}

/** Whether a write failed because the row already exists. */
export const isDuplicate = (error: unknown): boolean => /^SQLITE_CONSTRAINT(_PRIMARYKEY|_UNIQUE)?$/.test(codeOf(error))

/** The error of the driver: Drizzle's own, around it, quotes what was to be written, credentials too. */
export const withoutValues = (error: unknown): unknown => (error instanceof DrizzleQueryError ? error.cause : error)

/** Runs a query; every database error becomes SERVICE_UNAVAILABLE without SQL in its message. */
export const query = async <T>(run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ApiError) throw error
    const cause = withoutValues(error)
    throw new ApiError('SERVICE_UNAVAILABLE', 'The database does not answer. Try again in a moment.', { reason: 'database' }, { cause })
  }
}
