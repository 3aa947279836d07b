import type * as v from 'valibot'

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** `:name` is a parameter. A query that is part of the path distinguishes two calls. */
  readonly path: string
  /** The path's parameters are fields of the body, not arguments. */
  readonly parametersIn?: 'body'
  readonly body?: v.GenericSchema
  /** Reads text; a name without a value is a flag, and reads as true. */
  readonly query?: v.GenericSchema
}

/** A call whose answer ends by itself. */
interface Asked extends Call {
  /** Longest wait for the last byte of the answer, milliseconds. */
  readonly patienceMs: number
  /**
   * What happens to a call while the engine is started or replaced. `fail`: it fails at once. `wait`: it is sent when the engine is
   * there. `repeat`: as `wait`, and it is sent again, to the next engine, when the present one ends before it has answered.
   */
  readonly outage: 'fail' | 'wait' | 'repeat'
  /** Calls at the same time share an answer. */
  readonly shared?: true
}

export interface JsonCall extends Asked {
  readonly kind: 'json'
  readonly answer: v.GenericSchema
}

/** Answers a JPEG. */
export interface JpegCall extends Asked {
  readonly kind: 'jpeg'
}

export interface TextCall extends Asked {
  readonly kind: 'text'
  readonly contentType: string
}

/** Answers a stream of JSON lines: a heartbeat at once and at each interval, and the events as they come. */
export interface LinesCall extends Call {
  readonly kind: 'lines'
  readonly event: v.GenericSchema
  readonly heartbeatMs: number
  /** After this time without a line the engine counts as lost, milliseconds. */
  readonly silenceMs: number
  /** A client with more unread bytes is disconnected; it connects again and reads the present state. */
  readonly maxBacklog: number
}

/** Answers bytes that do not end by themselves. */
export interface StreamCall extends Call {
  readonly kind: 'stream'
  readonly contentType: string
  /** Longest wait for the first byte of the answer, milliseconds. */
  readonly patienceMs: number
  readonly outage: Asked['outage']
}

/** Answers bytes that end by themselves, however long that takes; with the query `range`, a part of them. */
export interface FileCall extends Call {
  readonly kind: 'file'
  readonly contentType: string
  /** Longest wait for the first byte of the answer, milliseconds. */
  readonly patienceMs: number
  readonly outage: Asked['outage']
}

export type AnyCall = JsonCall | JpegCall | TextCall | LinesCall | StreamCall | FileCall

type PathParameters<Path extends string> = Path extends `${string}:${infer Rest}` ? [parameter: string, ...PathParameters<Rest>] : []

/** The arguments of a call: the path's parameters, the body, the query. */
export type ArgumentsOf<C extends AnyCall> = [
  ...(C extends { readonly parametersIn: 'body' } ? [] : PathParameters<C['path']>),
  ...(C extends { readonly body: infer Body extends v.GenericSchema } ? [body: v.InferOutput<Body>] : []),
  ...(C extends { readonly query: infer Query extends v.GenericSchema } ? [query: v.InferOutput<Query>] : []),
]

export type AnswerOf<C extends JsonCall> = v.InferOutput<C['answer']>
export type EventOf<C extends LinesCall> = v.InferOutput<C['event']>

/** A JPEG on its way: `etag`, `last-modified`, `content-length`, `x-created-at` and, of a snapshot, `x-age-ms` are in the headers. */
export interface JpegAnswer {
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null
}

/** Bytes on their way: 200, or 206 with `content-range`; `content-length` is in the headers where it is known. */
export interface FileAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: ReadableStream<Uint8Array>
}

/** The client's method for a call. */
export type Method<C> = C extends JsonCall
  ? (...args: ArgumentsOf<C>) => Promise<AnswerOf<C>>
  : C extends JpegCall
    ? (...args: ArgumentsOf<C>) => Promise<JpegAnswer>
    : C extends TextCall
      ? (...args: ArgumentsOf<C>) => Promise<string>
      : C extends LinesCall
        ? /** Ends when the signal aborts; throws when the engine goes away. */ (
            ...args: [...ArgumentsOf<C>, signal: AbortSignal]
          ) => AsyncIterable<EventOf<C>>
        : C extends StreamCall
          ? /** The stream fails when the signal aborts or the engine goes away. */ (
              ...args: [...ArgumentsOf<C>, signal: AbortSignal]
            ) => Promise<ReadableStream<Uint8Array>>
          : C extends FileCall
            ? /** The body fails when the signal aborts or the engine goes away. */ (
                ...args: [...ArgumentsOf<C>, signal: AbortSignal]
              ) => Promise<FileAnswer>
            : never
