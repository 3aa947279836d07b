import type { Readable, Writable } from 'node:stream'
import type {
  AnswerOf,
  AnyCall,
  ArgumentsOf,
  EventOf,
  FileCall,
  JpegCall,
  JsonCall,
  LinesCall,
  StreamCall,
  TextCall,
} from '../../lib/engine/call.ts'
import { type PartName, PROTOCOL, type Protocol } from '../../lib/engine/protocol.ts'
import { ApiError } from '../../lib/errors.ts'
import { validate, validationError } from '../../lib/validate.ts'

export interface LineSink<Event> {
  push(event: Event): void
  /** Ends the stream; the client connects again. */
  end(): void
}

/** Sends every event from now on to the sink; returns the function that ends this. */
export type LineSource<Event> = (sink: LineSink<Event>) => () => void

/** A JPEG with the headers of its answer. */
export interface Jpeg {
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Buffer | Readable
}

/** Bytes with status and headers of their answer. */
export interface FileBytes {
  readonly status: 200 | 206
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Readable
}

/** Sends bytes until either side ends it. */
export type ByteSource = (out: Writable) => void

type Awaitable<T> = T | Promise<T>

type Answering<C> = C extends JsonCall
  ? (...args: ArgumentsOf<C>) => Awaitable<AnswerOf<C>>
  : C extends JpegCall
    ? (...args: ArgumentsOf<C>) => Promise<Jpeg>
    : C extends TextCall
      ? (...args: ArgumentsOf<C>) => Promise<string>
      : C extends LinesCall
        ? (...args: ArgumentsOf<C>) => Awaitable<LineSource<EventOf<C>>>
        : C extends StreamCall
          ? /** The signal aborts when the client has gone. */ (...args: [...ArgumentsOf<C>, signal: AbortSignal]) => Promise<ByteSource>
          : C extends FileCall
            ? (...args: [...ArgumentsOf<C>, signal: AbortSignal]) => Promise<FileBytes>
            : never

/** The functions that answer the calls of one part of the protocol. Each throws ApiError. */
export type Answers<Part extends PartName> = { readonly [Name in keyof Protocol[Part]]: Answering<Protocol[Part][Name]> }

export type EngineAnswers = { readonly [Part in PartName]: Answers<Part> }

interface EngineRequest {
  readonly method: string
  readonly url: URL
  readonly body: () => Promise<unknown>
  /** Aborts when the client has gone. */
  readonly signal: () => AbortSignal
}

/** A call and its answer, which is sent as its kind says. */
export type Answered =
  | { readonly kind: 'json'; readonly call: JsonCall; readonly answer: unknown }
  | { readonly kind: 'text'; readonly call: TextCall; readonly answer: string }
  | { readonly kind: 'jpeg'; readonly call: JpegCall; readonly answer: Jpeg }
  | { readonly kind: 'stream'; readonly call: StreamCall; readonly answer: ByteSource }
  | { readonly kind: 'file'; readonly call: FileCall; readonly answer: FileBytes }
  | { readonly kind: 'lines'; readonly call: LinesCall; readonly answer: LineSource<unknown> }

interface Row {
  readonly part: string
  readonly name: string
  readonly call: AnyCall
  readonly pattern: RegExp
  /** The query that is part of the path. */
  readonly fixed: readonly (readonly [string, string])[]
}

const toRow = (part: string, name: string, call: AnyCall): Row => {
  const [path = '', query = ''] = call.path.split('?')
  return {
    part,
    name,
    call,
    pattern: new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`),
    fixed: [...new URLSearchParams(query)],
  }
}

const ROWS = Object.entries(PROTOCOL).flatMap(([part, calls]) => Object.entries(calls).map(([name, call]) => toRow(part, name, call)))

/** Finds the row of a request, validates its arguments and gets its answer. Throws ApiError. */
export const dispatch = async (answers: EngineAnswers, request: EngineRequest): Promise<Answered> => {
  const { method, url } = request
  for (const row of ROWS) {
    const match = row.call.method === method ? row.pattern.exec(url.pathname) : null
    if (match === null || !row.fixed.every(([name, value]) => url.searchParams.get(name) === value)) continue
    const args = await argumentsOf(row.call, match.slice(1).map(decode), request)
    const part = answers[row.part as PartName] as unknown as Readonly<Record<string, (...args: unknown[]) => unknown>>
    return { kind: row.call.kind, call: row.call, answer: await part[row.name]?.(...args) } as Answered
  }
  throw new ApiError('NOT_FOUND', 'The engine has no such call; API and engine are of different versions.')
}

const argumentsOf = async (call: AnyCall, parameters: readonly string[], { url, body, signal }: EngineRequest): Promise<unknown[]> => {
  const args: unknown[] = call.parametersIn === 'body' ? [] : [...parameters]
  if (call.body !== undefined) args.push(validate(call.body, await body(), 'request body'))
  if (call.parametersIn === 'body') requireSame(call.path, parameters, args[0])
  if (call.query !== undefined) args.push(validate(call.query, queryOf(url), 'query'))
  if (call.kind === 'stream' || call.kind === 'file') args.push(signal())
  return args
}

const requireSame = (path: string, parameters: readonly string[], body: unknown): void => {
  for (const [at, [, name = '']] of [...path.matchAll(/:(\w+)/g)].entries()) {
    if ((body as Readonly<Record<string, unknown>>)[name] === parameters[at]) continue
    throw validationError('request body', [{ path: name, message: `Use the ${name} of the path` }])
  }
}

const queryOf = ({ searchParams }: URL): Readonly<Record<string, unknown>> =>
  Object.fromEntries([...searchParams].map(([name, value]) => [name, value === '' ? true : value]))

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ApiError('NOT_FOUND', 'The path of the request is not valid percent-encoding.')
  }
}
