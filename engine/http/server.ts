import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { ApiError, errorBody } from '../../lib/errors.ts'
import type { EngineEvent, Log } from '../../lib/ports.ts'

const MAX_BODY_BYTES = 2 * 1024 * 1024
const HEARTBEAT_MS = 1000
/** A subscriber that reads this slowly is cut off; it comes back and asks for the state anew. */
const MAX_EVENT_BACKLOG_BYTES = 4 * 1024 * 1024

/** One call that the engine answers. What `path` captures first is the call's `id`. */
export interface EngineRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: RegExp
  /** Answers what becomes the JSON body, or a RawAnswer. Throws ApiError. */
  readonly answer: (call: EngineCall) => unknown
}

export interface EngineCall {
  readonly id: string
  /** Everything that the path captured. */
  readonly captured: readonly string[]
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: () => Promise<unknown>
}

/** An answer that is no JSON: a picture, a file, a text. */
export class RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Buffer | Readable | null

  constructor(status: number, headers: Readonly<Record<string, string | number>>, body: Buffer | Readable | null) {
    this.status = status
    this.headers = headers
    this.body = body
  }
}

export interface EngineServerOptions {
  readonly routes: readonly EngineRoute[]
  readonly token: string
  /** Calls back with every event from now on; returns what ends that. */
  readonly subscribe: (listener: (event: EngineEvent) => void) => () => void
  readonly log: Log
  /** Each authenticated request, and each moment somebody follows the events. */
  readonly onContact: () => void
}

/** The engine's HTTP face: a bearer secret, the routes of its parts, and one stream of events. */
export const createEngineServer = (options: EngineServerOptions): Server => {
  const secret = sha256(`Bearer ${options.token}`)
  const server = createServer((request, response) => {
    void answer(request, response)
  })
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      if (!timingSafeEqual(sha256(request.headers.authorization ?? ''), secret)) {
        throw new ApiError('UNAUTHORIZED', 'The engine does not know this bearer secret.')
      }
      options.onContact()
      const url = new URL(request.url ?? '/', 'http://engine')
      if (request.method === 'GET' && url.pathname === '/events') return streamEvents(request, response, options)
      const result = await dispatch(options.routes, request, url)
      if (result instanceof RawAnswer) sendRaw(response, result)
      else sendJson(response, 200, result ?? null)
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', 'The engine failed to answer.')
      if (known !== error) options.log.error('engine_request_failed', { method: request.method, error })
      sendJson(response, known.status, errorBody(known))
    }
  }
  server.requestTimeout = 30_000
  server.keepAliveTimeout = 65_000
  return server
}

const dispatch = async (routes: readonly EngineRoute[], request: IncomingMessage, url: URL): Promise<unknown> => {
  for (const route of routes) {
    const match = route.method === request.method ? route.path.exec(url.pathname) : null
    if (match === null) continue
    const captured = match.slice(1).map(decodeURIComponent)
    const { headers } = request
    return route.answer({ id: captured[0] ?? '', captured, query: url.searchParams, headers, body: () => readJson(request) })
  }
  throw new ApiError('NOT_FOUND', 'The engine has no such call; API and engine are of different versions.')
}

const sendRaw = (response: ServerResponse, { status, headers, body }: RawAnswer): void => {
  response.writeHead(status, headers)
  if (body === null || Buffer.isBuffer(body)) response.end(body ?? undefined)
  else pipeline(body, response, () => {})
}

const readJson = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new ApiError('PAYLOAD_TOO_LARGE', 'The request body is too large.')
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch {
    throw new ApiError('VALIDATION_ERROR', 'The request body is not JSON.')
  }
}

const sendJson = (response: ServerResponse, status: number, value: unknown): void => {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify(value)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
}

/** One JSON object per line, a heartbeat every second so that both sides notice a dead peer. */
const streamEvents = (request: IncomingMessage, response: ServerResponse, { subscribe, onContact }: EngineServerOptions): void => {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const send = (event: EngineEvent): void => {
    if (response.writableLength > MAX_EVENT_BACKLOG_BYTES) response.destroy()
    else response.write(`${JSON.stringify(event)}\n`)
  }
  const heartbeat = setInterval(() => {
    onContact()
    send({ type: 'heartbeat' })
  }, HEARTBEAT_MS)
  const unsubscribe = subscribe(send)
  send({ type: 'heartbeat' })
  request.on('close', () => {
    clearInterval(heartbeat)
    unsubscribe()
  })
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
