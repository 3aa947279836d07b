import type * as v from 'valibot'
import type { RateLimit } from '../access/rate-limit.ts'
import type { ErrorCode } from '../errors.ts'

/**
 * public: nobody is asked. session: a session token or the API key, while a password is set.
 * api_key: the API key, always.
 */
export type Access = 'public' | 'session' | 'api_key'

export type Schema = v.GenericSchema
/** The schema of a query: an object, perhaps with checks. */
export type Fields = Schema & { readonly entries: v.ObjectEntries }

/** What an operation takes and answers, as validation and the API document see it. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with `:name` for a parameter. */
  readonly path: string
  readonly access: Access
  readonly limit?: RateLimit
  /** Unique name of the operation in the API document. */
  readonly operation: string
  readonly summary: string
  /** Status of a success. */
  readonly status: number
  /** The errors beyond UNAUTHORIZED, RATE_LIMITED and INTERNAL_ERROR that this operation answers. */
  readonly errors: readonly ErrorCode[]
  readonly query?: Fields
  readonly body?: Body
  /** What a success answers. */
  readonly answer: Answer
  /** Answers of another status that are no errors in the shape of errors. */
  readonly otherAnswers?: Readonly<Record<number, Answer>>
}

export interface Body {
  readonly schema: Schema
  /** An empty body means an empty object. */
  readonly optional?: true
  readonly examples: Examples
}

export type Examples = Readonly<Record<string, unknown>>

export interface Answer {
  readonly description: string
  /** By media type; none: no content. */
  readonly content: Readonly<Record<string, Content>>
  /** Header fields that belong to the answer, each with what it means. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Content {
  /** undefined: bytes. */
  readonly schema?: Schema
  readonly examples?: Examples
  /** Of a stream of events: the data of each. */
  readonly events?: Readonly<Record<string, Schema>>
}

/** A JSON answer. */
export const jsonAnswer = (
  description: string,
  schema: Schema,
  examples: Examples,
  headers: Readonly<Record<string, string>> = {},
): Answer => ({ description, content: { 'application/json': { schema, examples } }, headers })

/** An answer without content. */
export const emptyAnswer = (description: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  description,
  content: {},
  headers,
})

/** A JPEG. */
export const jpegAnswer = (description: string): Answer => ({ description, content: { 'image/jpeg': {} }, headers: PICTURE_HEADERS })

/** The client has the picture already. */
export const knownPictureAnswer = (): Answer => emptyAnswer('The picture is the one of If-None-Match', PICTURE_HEADERS)

const PICTURE_HEADERS = { etag: 'Names this picture, for If-None-Match', 'cache-control': 'private: ask again before using a copy' }

/** A stream of Server-Sent Events (WHATWG HTML section 9.2) with the data of each of its events. */
export const eventsAnswer = (description: string, events: Readonly<Record<string, Schema>>): Answer => ({
  description: `${description}. Every event has an id: Last-Event-ID replays what was missed; a comment line keeps the connection alive every 30 s.`,
  content: { 'text/event-stream': { events } },
})
