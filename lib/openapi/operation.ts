import type * as v from 'valibot'
import type { RateLimit } from '../access/rate-limit.ts'
import type { ErrorCode } from '../errors.ts'

/**
 * public: no credentials. session: a session token or the API key while a password is set. api_key: always the API key.
 */
export type Access = 'public' | 'session' | 'api_key'

export type Schema = v.GenericSchema
/** The schema of a query: an object, possibly with checks. */
export type Fields = Schema & { readonly entries: v.ObjectEntries }

/** An operation of the API, for the router and the API document. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with `:name` for parameters. */
  readonly path: string
  readonly access: Access
  readonly limit?: RateLimit
  /** Answers pictures or video: pages of other origins may not load it. */
  readonly isMedia?: true
  /** Unique name in the API document. */
  readonly operation: string
  readonly summary: string
  readonly description?: string
  /** Status of a success. */
  readonly status: number
  /** The errors of this operation, without those of `access` and `limit` and INTERNAL_ERROR. */
  readonly errors: readonly ErrorCode[]
  readonly query?: Fields
  readonly body?: Body
  /** The answer of a success. */
  readonly answer: Answer
  /** Answers with another status that do not have the shape of errors. */
  readonly otherAnswers?: Readonly<Record<number, Answer>>
}

export interface Body {
  readonly schema: Schema
  /** JSON, if it is left out. */
  readonly mediaType?: string
  /** An empty body means an empty object. */
  readonly optional?: true
  readonly examples: Examples
}

export type Examples = Readonly<Record<string, unknown>>

export interface Answer {
  readonly description: string
  /** By media type; empty: no content. */
  readonly content: Readonly<Record<string, Content>>
  /** Header fields of the answer with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Content {
  /** undefined: bytes. */
  readonly schema?: Schema
  readonly examples?: Examples
  /** For an event stream: the schema of the data by event. */
  readonly events?: Readonly<Record<string, Schema>>
}

/** An answer of one media type, whose content is known to the types. */
export interface AnswerOf<Type extends string, C extends Content> extends Answer {
  readonly content: { readonly [T in Type]: C }
}

/** A JSON answer. */
export const jsonAnswer = <S extends Schema>(
  description: string,
  schema: S,
  examples: Examples,
  headers: Readonly<Record<string, string>> = {},
): AnswerOf<'application/json', { readonly schema: S; readonly examples: Examples }> => ({
  description,
  content: { 'application/json': { schema, examples } },
  headers,
})

/** An answer without content. */
export const emptyAnswer = (description: string, headers: Readonly<Record<string, string>> = {}): AnswerOf<never, never> => ({
  description,
  content: {},
  headers,
})

/** A JPEG. */
export const jpegAnswer = (
  description: string,
  headers: Readonly<Record<string, string>> = {},
): AnswerOf<'image/jpeg', Readonly<Record<never, never>>> => ({
  description,
  content: { 'image/jpeg': {} },
  headers: { ...PICTURE_HEADERS, ...headers },
})

/** Bytes of a media type that has no schema. */
export const bytesAnswer = <const Type extends string>(description: string, mediaType: Type) => ({
  description,
  content: { [mediaType]: {} } as { readonly [Name in Type]: Content },
})

/** 304. */
export const knownPictureAnswer = (): AnswerOf<never, never> =>
  emptyAnswer('The picture has not changed since If-None-Match', PICTURE_HEADERS)

const PICTURE_HEADERS = {
  etag: 'Identifies this picture for If-None-Match',
  'last-modified': 'Time of the picture, whole seconds',
  'x-created-at': 'Time of the picture, ISO 8601 UTC with milliseconds',
  'cache-control': 'private: revalidate before using a copy',
}

/** A stream of Server-Sent Events (WHATWG HTML section 9.2) with the data of each of its events. */
export const eventsAnswer = <const E extends Readonly<Record<string, Schema>>>(
  description: string,
  events: E,
): AnswerOf<'text/event-stream', { readonly events: E }> => ({
  description: `${description}. Every event has an id; Last-Event-ID replays missed events. A comment line every 30 s keeps the connection open.`,
  content: { 'text/event-stream': { events } },
})
