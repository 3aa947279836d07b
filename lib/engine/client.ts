import * as v from 'valibot'
import type { PasswordHasher } from '../ports.ts'
import type {
  AnswerOf,
  AnyCall,
  ArgumentsOf,
  EventOf,
  FileAnswer,
  FileCall,
  JpegAnswer,
  JpegCall,
  JsonCall,
  LinesCall,
  StreamCall,
  TextCall,
} from './call.ts'
import { asEngineError, type EngineCaller, engineUnavailable, errorOf, isConnectionLoss } from './caller.ts'
import type { EngineAvailability } from './engine-availability.ts'
import { readLines } from './lines.ts'
import { type EngineClient, PROTOCOL } from './protocol.ts'
import { shareReads } from './shared-reads.ts'

type Availability = Pick<EngineAvailability, 'untilAvailable' | 'isReplaced'>

/**
 * The engine over HTTP, a method for each row of the protocol. Every method throws the engine's ApiError, or SERVICE_UNAVAILABLE.
 * With `availability`, calls wait for an engine that is started or replaced, as their rows say.
 */
export const createEngineClient = (caller: EngineCaller, availability?: Availability): EngineClient => {
  const partOf = (calls: Readonly<Record<string, AnyCall>>) =>
    Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, methodOf(caller, call, availability)]))
  // Each method has the type of its row.
  return Object.fromEntries(Object.entries(PROTOCOL).map(([name, calls]) => [name, partOf(calls)])) as unknown as EngineClient
}

/** The PasswordHasher port over the engine, for hosts that cannot run argon2 themselves. */
export const createRemoteHasher = ({ passwords }: Pick<EngineClient, 'passwords'>): PasswordHasher => ({
  hash: async (password) => (await passwords.hash({ password })).hash,
  verify: async (hash, password) => (await passwords.verify({ hash, password })).matches,
})

/** One call that answers JSON, by its row. */
export const askEngine = async <C extends JsonCall>(caller: EngineCaller, call: C, ...args: ArgumentsOf<C>): Promise<AnswerOf<C>> =>
  answered(send(caller, call, args), async (response) => v.parse(call.answer, await response.json()))

/** One stream of events, by its row. Ends when the signal aborts; throws when the engine goes away. */
export async function* followEngine<C extends LinesCall>(
  caller: EngineCaller,
  call: C,
  args: ArgumentsOf<C>,
  signal: AbortSignal,
): AsyncGenerator<EventOf<C>> {
  for await (const line of readLines(caller, { path: pathOf(call, args), silenceMs: call.silenceMs, signal })) {
    const event = v.safeParse(call.event, line)
    if (!event.success) throw engineUnavailable(new v.ValiError(event.issues))
    yield event.output as EventOf<C>
  }
}

const methodOf = (caller: EngineCaller, call: AnyCall, availability: Availability | undefined): ((...args: never[]) => unknown) => {
  if (call.kind === 'lines') {
    return (...args: unknown[]) => followEngine(caller, call, args.slice(0, -1) as ArgumentsOf<LinesCall>, args.at(-1) as AbortSignal)
  }
  if (call.kind === 'stream') {
    return (...args: unknown[]) =>
      throughOutage(availability, call, () => answered(openStream(caller, call, args.slice(0, -1), args.at(-1) as AbortSignal), streamOf))
  }
  if (call.kind === 'file') {
    return (...args: unknown[]) =>
      throughOutage(availability, call, () => answered(openStream(caller, call, args.slice(0, -1), args.at(-1) as AbortSignal), fileOf))
  }
  const ask = (...args: unknown[]): Promise<unknown> =>
    throughOutage(availability, call, () =>
      call.kind === 'json'
        ? askEngine(caller, call, ...(args as ArgumentsOf<JsonCall>))
        : answered(send(caller, call, args), (response) => bodyOf(call, response)),
    )
  return call.shared ? shareReads(ask) : ask
}

/** Calls that share a JPEG get bytes, which all of them can read. */
const bodyOf = async ({ kind, shared }: TextCall | JpegCall, response: Response): Promise<string | JpegAnswer> => {
  if (kind === 'text') return response.text()
  return { headers: response.headers, body: shared ? new Uint8Array(await response.arrayBuffer()) : response.body }
}

/** The answer's body lasts until the signal aborts; only its beginning is waited for with patience. */
const openStream = async (
  caller: EngineCaller,
  call: StreamCall | FileCall,
  args: readonly unknown[],
  signal: AbortSignal,
): Promise<Response> => {
  // One controller for both ends: a signal of AbortSignal.any() is lost to the garbage collector while a stream lasts.
  const ending = new AbortController()
  signal.addEventListener('abort', () => ending.abort(), { once: true })
  if (signal.aborted) ending.abort()
  const timer = setTimeout(() => ending.abort(new DOMException('The engine does not answer', 'TimeoutError')), call.patienceMs)
  try {
    return await caller({ method: call.method, path: pathOf(call, args), until: ending.signal })
  } finally {
    clearTimeout(timer)
  }
}

const streamOf = async ({ body }: Response): Promise<ReadableStream<Uint8Array>> => {
  if (body === null) throw engineUnavailable()
  return body
}

const fileOf = async (response: Response): Promise<FileAnswer> => ({
  status: response.status,
  headers: response.headers,
  body: await streamOf(response),
})

/** Asks once, and once more if the row allows it and another engine has come: a call that ends every engine ends no third one. */
const throughOutage = async <T>(
  availability: Availability | undefined,
  { outage }: Exclude<AnyCall, LinesCall>,
  ask: () => Promise<T>,
): Promise<T> => {
  if (availability === undefined || outage === 'fail') return ask()
  const engine = await availability.untilAvailable()
  try {
    return await ask()
  } catch (error) {
    if (outage === 'wait' || !isConnectionLoss(error) || !(await availability.isReplaced(engine))) throw error
    return ask()
  }
}

const answered = async <T>(request: Promise<Response>, read: (response: Response) => Promise<T>): Promise<T> => {
  try {
    const response = await request
    if (!response.ok) throw await errorOf(response)
    return await read(response)
  } catch (error) {
    throw asEngineError(error)
  }
}

const send = (
  caller: EngineCaller,
  call: Exclude<AnyCall, LinesCall | StreamCall | FileCall>,
  args: readonly unknown[],
): Promise<Response> =>
  caller({
    method: call.method,
    path: pathOf(call, args),
    ...(call.body !== undefined && { body: bodyArgument(call, args) }),
    until: call.patienceMs,
  })

const PARAMETER = /:(\w+)/g

const parameterCount = ({ path, parametersIn }: AnyCall): number => (parametersIn === 'body' ? 0 : [...path.matchAll(PARAMETER)].length)

const bodyArgument = (call: AnyCall, args: readonly unknown[]): unknown => args[parameterCount(call)]

const pathOf = (call: AnyCall, args: readonly unknown[]): string => {
  const body = bodyArgument(call, args) as Readonly<Record<string, unknown>> | undefined
  const rest = [...args]
  const path = call.path.replace(PARAMETER, (_text, name: string) =>
    encodeURIComponent(String(call.parametersIn === 'body' ? body?.[name] : rest.shift())),
  )
  if (call.query === undefined) return path
  const query = queryOf(args.at(-1) as Readonly<Record<string, unknown>>)
  return query === '' ? path : `${path}?${query}`
}

/** As the rows read it: a flag is a name without a value. */
const queryOf = (values: Readonly<Record<string, unknown>>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => {
      if (value === undefined || value === false) return []
      return value === true ? [name] : [`${name}=${encodeURIComponent(String(value))}`]
    })
    .join('&')
