import { validationError } from '../../lib/validate.ts'

/** The named query parameters; others are ignored. Throws VALIDATION_ERROR when one occurs twice. */
export const readQuery = (url: URL, names: readonly string[]): Record<string, string> => {
  const query: Record<string, string> = {}
  for (const name of names) {
    const [value, ...more] = url.searchParams.getAll(name)
    if (more.length > 0) throw validationError('query', [{ path: name, message: 'Give this parameter once' }])
    if (value !== undefined) query[name] = value
  }
  return query
}
