import { ERROR_STATUS, type ErrorCode, errorBody } from '../errors.ts'
import { errorSchema, triggerRefusalSchema } from '../schema/error.ts'
import { unknownParameter, validationError } from '../validate.ts'
import { ERROR_DETAILS, ERROR_MESSAGES, UNKNOWN_HOST } from './examples.ts'
import type { Answer, Content, Examples, Operation, Schema } from './operation.ts'
import { answerSchema, type JsonSchema } from './schemas.ts'

/** An OpenAPI Response Object. */
type DocumentedResponse = JsonSchema

/** The responses of an operation by status: its answers and its errors. */
export const documentedResponses = (operation: Operation): Readonly<Record<string, DocumentedResponse>> => {
  const answers = { [operation.status]: operation.answer, ...operation.otherAnswers }
  const errors = Map.groupBy<number, ErrorCode>(errorsOf(operation), (code) => ERROR_STATUS[code])
  const statuses = [...new Set([...Object.keys(answers).map(Number), ...errors.keys()])].sort((one, other) => one - other)
  return Object.fromEntries(statuses.map((status) => [status, responseOf(operation, answers[status], errors.get(status) ?? [])] as const))
}

/** The errors of an operation, including those of its access and its rate limit. */
const errorsOf = ({ method, access, limit, errors }: Operation): readonly ErrorCode[] => [
  ...new Set<ErrorCode>([
    ...errors,
    // Compressed bodies are refused.
    ...(errors.includes('PAYLOAD_TOO_LARGE') ? (['UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    // Unknown query parameters are refused.
    'VALIDATION_ERROR',
    ...(access === 'public' ? [] : (['UNAUTHORIZED'] as const)),
    // Checking a token reads the database, which may be unavailable.
    ...(access === 'session' ? (['SERVICE_UNAVAILABLE'] as const) : []),
    // For changes by pages of other origins, and for unknown host names.
    ...(access === 'public' && method === 'GET' ? [] : (['FORBIDDEN'] as const)),
    ...(limit === undefined ? [] : (['RATE_LIMITED'] as const)),
    'INTERNAL_ERROR',
  ]),
]

const responseOf = (operation: Operation, answer: Answer | undefined, codes: readonly ErrorCode[]): DocumentedResponse => {
  if (answer !== undefined && codes.length > 0)
    throw new Error(`${operation.operation} answers one status in two shapes (${codes.join(', ')}); use another status or remove the error`)
  if (answer !== undefined) return toResponse(answer)
  return operation.access === 'api_key' && codes.includes('UNAUTHORIZED') ? triggerRefusal() : toResponse(errorAnswer(codes, operation))
}

const triggerRefusal = (): DocumentedResponse =>
  toResponse({
    description: 'The API key is missing or wrong',
    headers: { 'www-authenticate': 'ApiKey' },
    content: { 'application/json': { schema: triggerRefusalSchema, examples: { refused: { error: 'Unauthorized' } } } },
  })

interface ErrorAnswer extends Answer {
  readonly codes: readonly ErrorCode[]
}

const errorAnswer = (codes: readonly ErrorCode[], operation: Operation): ErrorAnswer => ({
  codes,
  description: codes.join(' or '),
  content: {
    'application/json': { schema: errorSchema, examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code, operation)])) },
  },
  headers: Object.assign({}, ...codes.map((code) => ERROR_HEADERS[code] ?? {})) as Record<string, string>,
})

const RETRY_AFTER = { 'retry-after': 'Seconds to wait before the next try' }
const ERROR_HEADERS: { readonly [Code in ErrorCode]?: Readonly<Record<string, string>> } = {
  UNAUTHORIZED: { 'www-authenticate': 'Bearer' },
  RATE_LIMITED: RETRY_AFTER,
  SERVICE_UNAVAILABLE: RETRY_AFTER,
}

const exampleOf = (code: ErrorCode, { method, query, body }: Operation) => {
  if (code === 'VALIDATION_ERROR' && body === undefined)
    return errorBody(validationError('query', [{ path: 'verbose', message: unknownParameter(Object.keys(query?.entries ?? {})) }]))
  if (code === 'FORBIDDEN' && method === 'GET') return UNKNOWN_HOST
  return { message: ERROR_MESSAGES[code], code, details: ERROR_DETAILS[code] ?? {} }
}

const toResponse = (answer: Answer & { readonly codes?: readonly ErrorCode[] }): DocumentedResponse => ({
  description: answer.description,
  headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' }, ...toHeaders(answer.headers ?? {}) },
  ...(Object.keys(answer.content).length > 0 && {
    content: Object.fromEntries(Object.entries(answer.content).map(([type, content]) => [type, toContent(content, answer.codes)])),
  }),
})

const toHeaders = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]))

const toContent = ({ schema, examples, events }: Content, codes: readonly ErrorCode[] | undefined) => ({
  ...(schema !== undefined && { schema: codes === undefined ? answerSchema(schema) : onlyCodes(schema, codes) }),
  ...(events !== undefined && { schema: { type: 'string' }, 'x-events': toEvents(events) }),
  ...(examples !== undefined && { examples: toExamples(examples) }),
})

/** Errors whose `details.reason` is always there. */
const WITH_REASON: ReadonlySet<ErrorCode> = new Set(['CONFLICT', 'PRECONDITION_FAILED'])

const REASON = { properties: { reason: { type: 'string', description: 'For programs' } }, required: ['reason'] }

const onlyCodes = (schema: Schema, codes: readonly ErrorCode[]): JsonSchema => ({
  allOf: [
    answerSchema(schema),
    { properties: { code: { enum: codes }, ...(codes.every((code) => WITH_REASON.has(code)) && { details: REASON }) } },
  ],
})

const toEvents = (events: Readonly<Record<string, Schema>>) =>
  Object.fromEntries(Object.entries(events).map(([name, schema]) => [name, answerSchema(schema)]))

/** OpenAPI Example Objects. */
export const toExamples = (examples: Examples) => Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))
