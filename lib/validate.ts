import * as v from 'valibot'
import { ApiError } from './errors.ts'

export interface ValidationIssue {
  /** Dotted path of the field, empty for the body itself. */
  readonly path: string
  readonly message: string
}

type AnySchema = v.GenericSchema

// valibot's own messages quote the input, which may be a secret; ours name only what is expected.
const issueMessage = (issue: v.BaseIssue<unknown>): string => {
  if (issue.kind === 'schema' && issue.type === 'strict_object') {
    return issue.expected === 'never' ? 'Unknown field' : issue.input === undefined ? 'This field is required' : 'Use an object'
  }
  if (issue.kind === 'schema' && issue.input === undefined) return 'This field is required'
  return issue.message.startsWith('Invalid ') ? `Expected ${issue.expected ?? 'another value'}` : issue.message
}

const toIssue = (issue: v.BaseIssue<unknown>): ValidationIssue => ({ path: v.getDotPath(issue) ?? '', message: issueMessage(issue) })

/** Most issues that one answer lists. */
const MAX_ISSUES = 20

/** Validates untrusted input. Throws VALIDATION_ERROR with `details.issues`, which never quote the input. */
export const validate = <S extends AnySchema>(schema: S, input: unknown, what: string): v.InferOutput<S> => {
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  const issues = result.issues.slice(0, MAX_ISSUES).map(toIssue)
  throw validationError(what, issues)
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

const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)
