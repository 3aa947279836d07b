import * as v from 'valibot'
import { ApiError } from './errors.ts'
import { isRecord } from './json/is-record.ts'

export interface ValidationIssue {
  /** Dotted path of the field, empty for the body itself. */
  readonly path: string
  readonly message: string
}

type AnySchema = v.GenericSchema

/** The advice for each type that valibot expects. */
const INSTEAD: Readonly<Record<string, string>> = {
  Array: 'Use a list',
  boolean: 'Use true or false',
  string: 'Use a string',
  number: 'Use a number',
  Object: 'Use an object',
}

// valibot's own messages quote the input, which may be a secret; ours name only what is expected.
const issueMessage = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind === 'schema' && issue.type === 'strict_object') {
    return issue.expected === 'never' ? 'Unknown field' : issue.input === undefined ? 'This field is required' : 'Use an object'
  }
  if (issue.kind === 'schema' && issue.input === undefined) return 'This field is required'
  return issue.message.startsWith('Invalid ')
    ? (INSTEAD[issue.expected ?? ''] ?? `Expected ${issue.expected ?? 'another value'}`)
    : issue.message
}

const toIssue = (issue: v.BaseIssue<unknown>): ValidationIssue => ({ path: v.getDotPath(issue) ?? '', message: issueMessage(issue) })

/** Most issues that one answer lists. */
export const MAX_ISSUES = 20

/** Validates untrusted input. Throws VALIDATION_ERROR with `details.issues`, which never quote the input. */
export const validate = <S extends AnySchema>(schema: S, input: unknown, what: string): v.InferOutput<S> => {
  const arrays = arraysForObjects(schema, input)
  if (arrays.length > 0) throw validationError(what, arrays.slice(0, MAX_ISSUES))
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  const issues = result.issues.slice(0, MAX_ISSUES).map(toIssue)
  throw validationError(what, issues)
}

/** The fields of valibot's schemas that hold inner schemas. */
interface SchemaShape {
  readonly type: string
  readonly entries?: Readonly<Record<string, AnySchema>>
  readonly options?: readonly unknown[]
  readonly wrapped?: AnySchema
}

/** Fields that hold an array instead of an object: valibot's object schemas accept one, since its typeof is 'object'. */
const arraysForObjects = (schema: AnySchema, input: unknown, path: readonly string[] = []): readonly ValidationIssue[] => {
  const { type, entries, options = [], wrapped } = schema as unknown as SchemaShape
  if (wrapped !== undefined) return arraysForObjects(wrapped, input, path)
  if (type === 'variant' || type === 'union') {
    const found = (options as readonly AnySchema[]).flatMap((option) => arraysForObjects(option, input, path))
    return [...new Map(found.map((issue) => [issue.path, issue])).values()]
  }
  if (entries === undefined) return []
  if (Array.isArray(input)) return [{ path: path.join('.'), message: 'Use an object' }]
  if (!isRecord(input)) return []
  return Object.entries(entries).flatMap(([name, entry]) => arraysForObjects(entry, input[name], [...path, name]))
}

/** The VALIDATION_ERROR for a list of field issues. */
export const validationError = (
  what: string,
  issues: readonly ValidationIssue[],
  more: Record<string, unknown> = {},
  options?: ErrorOptions,
): ApiError => {
  const first = issues[0]
  // No colon after the name of a field: `redact` would mask what follows `password:`.
  const where = first?.path ? ` at ${first.path}` : ''
  const problem = first === undefined ? '' : ` ${asSentence(first.message)}`
  return new ApiError('VALIDATION_ERROR', `The ${what} is not valid${where}.${problem}`, { issues, ...more }, options)
}

/** The issue of a query parameter that the operation does not have. */
export const unknownParameter = (known: readonly string[]): string =>
  known.length === 0 ? 'This operation has no query parameters' : `Unknown parameter; use ${known.join(', ')}`

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
