import { randomUUID } from 'node:crypto'
import type { Msg } from '@nats-io/transport-node'
import { ApiError, messageOf } from '../../../lib/errors.ts'
import { type FleetAnswer, isRelayed } from '../../../lib/fleet/fleet-hosts.ts'
import { apiSubject } from '../../../lib/fleet/names.ts'
import { isRecord } from '../../../lib/json/is-record.ts'
import type { Log } from '../../../lib/ports.ts'
import { createSlots } from '../../../lib/slots.ts'
import type { FetchHandler } from '../../app.ts'
import { errorResponse } from '../../http/respond.ts'
import { toAnswer } from './answer.ts'
import type { Linked } from './linked.ts'

const RUNNING = 16
const WAITING = 64
/** A start may take minutes. A caller that waits for less has its answer dropped. Milliseconds. */
const ANSWER_WITHIN_MS = 310_000
const PAYLOAD = 1_048_576
/** For the header of a message, bytes. */
const SPARE = 1024

interface Options {
  readonly host: string
  readonly app: FetchHandler
  readonly apiKey: string
  readonly log: Log
}

/** Answers the requests of the fleet by the handlers of the API, until the connection is lost. */
export const answerRequests = ({ connection, signal }: Linked, options: Options): void => {
  const { host, log } = options
  const slots = createSlots({
    running: RUNNING,
    waiting: WAITING,
    refusal: () => new ApiError('RATE_LIMITED', 'This host answers too many requests of the fleet. Try again later.'),
  })
  const maxBytes = (connection.info?.max_payload ?? PAYLOAD) - SPARE
  const answer = async (message: Msg): Promise<void> => {
    const answered = await slots
      .run(() => call(message, options, { maxBytes, signal }))
      .catch(async (error: unknown) => {
        if (!(error instanceof ApiError)) log.error('fleet_request_failed', { error: messageOf(error) })
        const known =
          error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', 'The request failed. The log of the host has the cause.')
        return toAnswer(errorResponse(known), maxBytes)
      })
    if (!signal.aborted) message.respond(JSON.stringify(answered))
  }
  // Of two processes of a host, as during a takeover, one answers.
  connection.subscribe(apiSubject(host), {
    queue: host,
    callback: (error, message) => {
      if (error) log.warn('fleet_requests_not_heard', { error: messageOf(error) })
      else if (message.reply !== undefined && message.reply !== '')
        answer(message).catch((fault: unknown) => log.warn('fleet_answer_not_sent', { error: messageOf(fault) }))
    },
  })
}

interface Bounds {
  readonly maxBytes: number
  readonly signal: AbortSignal
}

const call = async (message: Msg, { app, apiKey }: Options, { maxBytes, signal }: Bounds): Promise<FleetAnswer> => {
  const { request, abort } = toRequest(message, apiKey, signal)
  const response = await app(request, { requestId: randomUUID() })
  try {
    return await toAnswer(response, maxBytes)
  } finally {
    // Ends what an answer that is refused would have gone on with.
    abort()
  }
}

const REFUSED: ReadonlySet<string> = new Set([
  'authorization',
  'connection',
  'content-length',
  'cookie',
  'host',
  'origin',
  'transfer-encoding',
  'upgrade',
  'x-api-key',
])

const USE = 'Send JSON with method, path, headers and body, such as {"method":"GET","path":"/svc/pipeline"}.'

/** The request of a message, with the rights of the API key. Throws VALIDATION_ERROR. */
const toRequest = (message: Msg, apiKey: string, signal: AbortSignal): { readonly request: Request; readonly abort: () => void } => {
  const { method, path, headers, body } = fieldsOf(message)
  const ending = new AbortController()
  const ends = AbortSignal.any([signal, ending.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)])
  try {
    const given = new Headers(headers)
    for (const name of [...given.keys()]) if (REFUSED.has(name) || name.startsWith('sec-')) given.delete(name)
    given.set('x-api-key', apiKey)
    if (body !== undefined && !given.has('content-type')) given.set('content-type', 'application/json')
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const request = new Request(`http://127.0.0.1${path}`, {
      method,
      headers: given,
      signal: ends,
      ...(text !== undefined && { body: text }),
    })
    return { request, abort: () => ending.abort() }
  } catch {
    throw new ApiError('VALIDATION_ERROR', `Method, path, headers or body of this request are not valid. ${USE}`)
  }
}

const fieldsOf = (message: Msg) => {
  const value = parse(message)
  if (!isRecord(value)) throw new ApiError('VALIDATION_ERROR', `A request is a JSON object. ${USE}`)
  const { method = 'GET', path, headers = {}, body } = value
  if (typeof method !== 'string' || !/^[A-Za-z]{1,10}$/.test(method))
    throw new ApiError('VALIDATION_ERROR', `method: Use a method of HTTP. ${USE}`)
  if (typeof path !== 'string' || !path.startsWith('/svc/'))
    throw new ApiError('VALIDATION_ERROR', `path: Use a path that begins with /svc/. ${USE}`)
  if (isRelayed(path))
    throw new ApiError('FORBIDDEN', 'A host answers for itself alone: ask the other one yourself.', { reason: 'fleet_relay' })
  if (!isRecord(headers) || !Object.values(headers).every((one) => typeof one === 'string'))
    throw new ApiError('VALIDATION_ERROR', `headers: Use an object of texts. ${USE}`)
  return { method: method.toUpperCase(), path, headers: headers as Record<string, string>, body: body === null ? undefined : body }
}

const parse = (message: Msg): unknown => {
  try {
    return message.json()
  } catch {
    return undefined
  }
}
