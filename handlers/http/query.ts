import { MAX_ISSUES, unknownParameter, validationError } from '../../lib/validate.ts'
import type { ReadRequest } from './route.ts'

/** Most characters of an unknown parameter's name in an error. */
const MAX_NAME = 64

/** Throws VALIDATION_ERROR for a query parameter that the operation does not have. */
export const refuseUnknownQuery = (url: ReadRequest['url'], known: readonly string[]): void => {
  const unknown = new Set([...url.searchParams.keys()].filter((name) => !known.includes(name)))
  if (unknown.size === 0) return
  const message = unknownParameter(known)
  throw validationError(
    'query',
    [...unknown].slice(0, MAX_ISSUES).map((name) => ({ path: name.slice(0, MAX_NAME), message })),
  )
}

/** The named query parameters. Throws VALIDATION_ERROR when one occurs twice. */
export const readQuery = (url: ReadRequest['url'], names: readonly string[]): Record<string, string> => {
  const query: Record<string, string> = {}
  for (const name of names) {
    const [value, ...more] = url.searchParams.getAll(name)
    if (more.length > 0) throw validationError('query', [{ path: name, message: 'Give this parameter once' }])
    if (value !== undefined) query[name] = value
  }
  return query
}
