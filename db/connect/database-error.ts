import { DrizzleQueryError } from 'drizzle-orm'
import { ApiError, DATABASE_BUSY, messageOf } from '../../lib/errors.ts'
import { redact } from '../../lib/redact.ts'

/** The database cannot be used; the message is for the operator. */
export class DatabaseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'DatabaseError'
  }
}

const NOT_A_DATABASE = new Set(['SQLITE_NOTADB', 'SQLITE_CORRUPT'])
const NO_SPACE = new Set(['SQLITE_FULL'])
/** Also for a full disk, when the shared-memory file of the database cannot grow. */
const FAILED_DISK = new Set(['SQLITE_IOERR'])
const NOT_OPENED = new Set(['SQLITE_CANTOPEN', 'SQLITE_PERM', 'SQLITE_AUTH'])
// The native add-on has no code for a file that it cannot open.
const NOT_CONNECTED = /unable to open/i

const codeOf = (error: unknown): string => {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code
  }
  return ''
}

/** The reason of a failed fetch is in its cause. */
const innermost = (error: unknown): string => {
  let at = error
  for (let depth = 0; at instanceof Error && at.cause instanceof Error && depth < 5; depth += 1) at = at.cause
  return redact(messageOf(at)).slice(0, 200)
}

/** `SQLITE_IOERR_WRITE` is a kind of `SQLITE_IOERR`. */
const primaryOf = (code: string): string => /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code

/** Why a database could not be opened, for the operator. */
export const openingError = (place: string, error: unknown, { isServer = false } = {}): DatabaseError => {
  if (error instanceof DatabaseError) return error
  const code = codeOf(error)
  const primary = primaryOf(code)
  if (NOT_A_DATABASE.has(primary))
    return new DatabaseError(`${place} is damaged or not a database. Restore it, or move it away to start with an empty one.`, {
      cause: error,
    })
  if (isBusy(error))
    return new DatabaseError(`${place} cannot be opened: another program holds it, such as a backup. Start again when that has ended.`, {
      cause: error,
    })
  if (NO_SPACE.has(primary)) return new DatabaseError(`${place} cannot be opened: its disk is full. Free space there.`, { cause: error })
  if (FAILED_DISK.has(primary))
    return new DatabaseError(`${place} cannot be opened: its disk is full or fails. Free space there, and see the log of its host.`, {
      cause: error,
    })
  if (isReadOnly(error))
    return new DatabaseError(
      `${place} can only be read. Make it, the files beside it and its folder writable for the user of the service.`,
      {
        cause: error,
      },
    )
  if (NOT_OPENED.has(primary) || (error instanceof Error && NOT_CONNECTED.test(error.message)))
    return new DatabaseError(`${place} cannot be opened. Check that its folder exists and is writable.`, { cause: error })
  if (code === 'SERVER_ERROR' && /status 40[13]/.test(messageOf(error)))
    return new DatabaseError(`${place} refuses the service. Check SVC_DATABASE_AUTH_TOKEN.`, { cause: error })
  if (isServer && !code.startsWith('SQLITE_'))
    return new DatabaseError(
      `${place} does not answer as a libSQL server (${innermost(error)}). Check SVC_DATABASE_URL, and that the server runs.`,
      { cause: error },
    )
  return new DatabaseError(`${place} cannot be used (${code || innermost(error)}).`, { cause: error })
}

/** Whether a write failed because the row already exists. */
export const isDuplicate = (error: unknown): boolean => /^SQLITE_CONSTRAINT(_PRIMARYKEY|_UNIQUE)?$/.test(codeOf(error))

/** The error of the driver: Drizzle's own error around it quotes the values, credentials too. */
export const withoutValues = (error: unknown): unknown => (error instanceof DrizzleQueryError ? error.cause : error)

/** Faults that the operator has to correct; others may pass by themselves. */
const NOT_WRITTEN: Readonly<Record<string, string>> = {
  SQLITE_FULL: 'The disk of the database is full, so that nothing can be changed. Free space there.',
  SQLITE_READONLY:
    'The database is read-only, so that nothing can be changed. Make its file and its folder writable, and restart the service.',
  SQLITE_IOERR: 'The disk of the database fails. Check the disk, and the log of its host.',
  SQLITE_CORRUPT: 'The database is damaged. Restore it.',
}

/** Whether another program holds the database, as during a backup. */
export const isBusy = (error: unknown): boolean => /^SQLITE_(?:BUSY|LOCKED)/.test(codeOf(error))

export const isReadOnly = (error: unknown): boolean => primaryOf(codeOf(error)) === 'SQLITE_READONLY'

/** Whether a file is damaged, or not a database. */
export const isDamaged = (error: unknown): boolean => NOT_A_DATABASE.has(primaryOf(codeOf(error)))

/** Whether nothing can be written until the operator has acted. */
export const refusesChanges = (error: unknown): boolean => Object.hasOwn(NOT_WRITTEN, primaryOf(codeOf(error)))

const databaseBusy = (cause: unknown): ApiError =>
  new ApiError(
    'SERVICE_UNAVAILABLE',
    'Another program holds the database, such as a backup, so that nothing was changed. Try again when it has ended.',
    { reason: DATABASE_BUSY },
    { cause },
  )

/** Runs a query; every database error becomes SERVICE_UNAVAILABLE without SQL in its message. */
export const query = async <T>(run: () => Promise<T>): Promise<T> => {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ApiError) throw error
    const cause = withoutValues(error)
    if (isBusy(cause)) throw databaseBusy(cause)
    const message = NOT_WRITTEN[primaryOf(codeOf(cause))] ?? 'The database does not answer. Try again in a moment.'
    throw new ApiError('SERVICE_UNAVAILABLE', message, { reason: 'database' }, { cause })
  }
}
