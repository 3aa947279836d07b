import type * as v from 'valibot'
import type { ErrorCode } from '../errors.ts'
import type { Immutable } from '../schema/primitives.ts'
import type { Answer, Body, Content, Fields, Operation, Schema } from './operation.ts'

/**
 * An operation as a client sees it. These types follow from the row of the operation, so that the client has no list of operations or
 * fields of its own.
 */
export interface Call {
  readonly operation: string
  /** Method and path, the media type of a body that is not JSON, then the statuses besides a success that are answers, or `events` for a stream of them. */
  readonly line: string
  /** The fields of path and query, and `body`. */
  readonly input: object
  readonly result: unknown
}

/** The row of an operation, with the types that its call follows from. */
export type Row<
  Method extends Operation['method'],
  Path extends string,
  Name extends string,
  Query extends Fields | undefined,
  Sent extends Body | undefined,
  Answered extends Answer,
  Others extends Readonly<Record<number, Answer>>,
  Code extends ErrorCode,
> = Omit<Operation, 'method' | 'path' | 'operation' | 'errors' | 'query' | 'body' | 'answer' | 'otherAnswers'> & {
  readonly method: Method
  readonly path: Path
  readonly operation: Name
  readonly errors: readonly Code[]
  readonly query?: Query
  readonly body?: Sent
  readonly answer: Answered
  readonly otherAnswers?: Others
}

/** The `line` of a call. */
export type LineOf<
  Method extends string,
  Path extends string,
  Sent extends Body | undefined,
  Answered extends Answer,
  Others,
> = `${Method} ${Path}${SentType<Sent>}${Extra<Answered, Others>}`

/** The `input` of a call. */
export type InputOf<
  Path extends string,
  Query extends Fields | undefined,
  Sent extends Body | undefined,
  Answered extends Answer,
  Others,
  Code extends ErrorCode,
> = Expand<PathInput<Path> & QueryInput<Query> & BodyInput<Sent> & ConditionInput<Answered, Others, Code>>

// Declarations list the fields instead of the expression: a tenth of the size.
type Expand<T> = T extends infer Fields ? { [Name in keyof Fields]: Fields[Name] } : never

type SentType<Sent extends Body | undefined> = Sent extends { readonly mediaType: infer Type extends string } ? ` ${Type}` : ''

type Extra<Answered extends Answer, Others> = Answered['content'] extends { readonly 'text/event-stream': Content }
  ? ' events'
  : keyof Others extends infer Status extends number
    ? [Status] extends [never]
      ? ''
      : ` ${Status}`
    : ''

type PathInput<Path extends string> = { readonly [Name in ParameterOf<Path>]: string }
type ParameterOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** The types that the schema makes of the text of a query. */
type QueryInput<Query extends Fields | undefined> = Query extends Fields
  ? { readonly [Name in RequiredName<Query['entries']>]: v.InferOutput<Query['entries'][Name]> } & {
      readonly [Name in Exclude<keyof Query['entries'], RequiredName<Query['entries']>>]?: v.InferOutput<Query['entries'][Name]> | undefined
    }
  : unknown
type RequiredName<Entries extends v.ObjectEntries> = {
  [Name in keyof Entries]: Entries[Name] extends { readonly type: 'optional' | 'exact_optional' | 'nullish' } ? never : Name
}[keyof Entries]

type BodyInput<Sent extends Body | undefined> = Sent extends Body
  ? Sent extends { readonly optional: true }
    ? { readonly body?: Immutable<v.InferInput<Sent['schema']>> | undefined }
    : { readonly body: Immutable<v.InferInput<Sent['schema']>> }
  : unknown

/** The header fields of some operations: changes, pictures and streams of events. */
type ConditionInput<Answered extends Answer, Others, Code extends ErrorCode> = ('PRECONDITION_FAILED' extends Code
  ? { readonly ifMatch?: string | undefined }
  : unknown) &
  (Others extends { readonly 304: Answer } ? { readonly ifNoneMatch?: string | undefined } : unknown) &
  (Answered['content'] extends { readonly 'text/event-stream': Content } ? { readonly lastEventId?: string | undefined } : unknown)

/** The `result` of a call: JSON as values, other text as a string, events one by one, all else as the Response. */
export type ResultOf<Contents> = [keyof Contents] extends [never]
  ? undefined
  : { [Type in keyof Contents]: ValueOf<Type, Contents[Type]> }[keyof Contents]

type ValueOf<Type, C> = Type extends 'application/json' | `${string}+json`
  ? C extends { readonly schema: infer S extends Schema }
    ? v.InferOutput<S>
    : unknown
  : Type extends 'text/event-stream'
    ? C extends { readonly events: infer Events extends Readonly<Record<string, Schema>> }
      ? AsyncIterable<EventOf<Events>>
      : never
    : Type extends `text/${string}` | 'application/xml'
      ? string
      : Response

/** An event of a stream, discriminated by `event`. */
type EventOf<Events extends Readonly<Record<string, Schema>>> = {
  [Name in keyof Events]: { readonly id: string; readonly event: Name; readonly data: v.InferOutput<Events[Name]> }
}[keyof Events]
