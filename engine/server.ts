import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { ApiError, errorBody } from '../lib/errors.ts'
import type { EngineEvent, EngineStatus, Log } from '../lib/ports.ts'
import type { PipelineConfig } from '../lib/schema/pipeline.ts'
import { settingsSchema } from '../lib/schema/settings.ts'
import { validate } from '../lib/validate.ts'
import type { Supervisor } from './supervisor.ts'

const MAX_BODY_BYTES = 2 * 1024 * 1024
const HEARTBEAT_MS = 5000
/** A subscriber that reads this slowly is cut off; it comes back and asks for the state anew. */
const MAX_EVENT_BACKLOG_BYTES = 4 * 1024 * 1024

export interface EngineServerOptions {
  readonly supervisor: Supervisor
  readonly token: string
  readonly status: () => Promise<Omit<EngineStatus, 'configured' | 'playing'>>
  readonly log: Log
  /** Each authenticated request, and each moment somebody follows the events. */
  readonly onContact: () => void
}

interface Call {
  readonly id: string
  readonly query: URLSearchParams
  readonly body: () => Promise<unknown>
}

type Route = readonly [method: string, path: RegExp, answer: (call: Call) => unknown]

/** The Engine port over HTTP: one route per method of `Engine`; errors keep their code, message and details. */
export const createEngineServer = (options: EngineServerOptions): Server => {
  const routes = routesOf(options)
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
      sendJson(response, 200, (await dispatch(routes, request, url)) ?? null)
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', 'The engine failed to answer.')
      if (known !== error) options.log.error('engine_request_failed', { method: request.method, error })
      sendJson(response, known.status, errorBody(known))
    }
  }
  // A play may take the longest start timeout of the settings; nothing else is slow.
  server.requestTimeout = 30_000
  server.keepAliveTimeout = 65_000
  return server
}

const routesOf = ({ supervisor, status }: EngineServerOptions): readonly Route[] => [
  ['GET', /^\/status$/, async () => ({ ...(await status()), configured: supervisor.configured, playing: supervisor.playing })],
  ['PUT', /^\/settings$/, async ({ body }) => supervisor.configure(validate(settingsSchema, await body(), 'settings record'))],
  ['POST', /^\/check$/, async ({ body }) => supervisor.check((await body()) as PipelineConfig)],
  ['GET', /^\/pipelines$/, () => supervisor.list()],
  ['GET', /^\/pipelines\/([\w-]+)$/, ({ id }) => supervisor.view(id)],
  ['PUT', /^\/pipelines\/([\w-]+)$/, async ({ body, query }) => supervisor.put((await body()) as PipelineConfig, query.has('create'))],
  ['DELETE', /^\/pipelines\/([\w-]+)$/, ({ id, query }) => supervisor.remove(id, query.has('force'))],
  ['POST', /^\/pipelines\/([\w-]+)\/play$/, ({ id, query }) => supervisor.play(id, query.has('wait'))],
  ['POST', /^\/pipelines\/([\w-]+)\/stop$/, ({ id }) => supervisor.stop(id)],
  ['GET', /^\/pipelines\/([\w-]+)\/log$/, ({ id }) => supervisor.log(id)],
]

const dispatch = async (routes: readonly Route[], request: IncomingMessage, url: URL): Promise<unknown> => {
  for (const [method, path, handle] of routes) {
    const match = method === request.method ? path.exec(url.pathname) : null
    if (match !== null) return handle({ id: match[1] ?? '', query: url.searchParams, body: () => readJson(request) })
  }
  throw new ApiError('NOT_FOUND', 'The engine has no such call; API and engine are of different versions.')
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

/** One JSON object per line, a heartbeat every 5 s so that both sides notice a dead peer. */
const streamEvents = (request: IncomingMessage, response: ServerResponse, { supervisor, onContact }: EngineServerOptions): void => {
  response.writeHead(200, { 'content-type': 'application/x-ndjson' })
  const send = (event: EngineEvent): void => {
    if (response.writableLength > MAX_EVENT_BACKLOG_BYTES) response.destroy()
    else response.write(`${JSON.stringify(event)}\n`)
  }
  const heartbeat = setInterval(() => {
    onContact()
    send({ type: 'heartbeat' })
  }, HEARTBEAT_MS)
  const unsubscribe = supervisor.subscribe(send)
  send({ type: 'heartbeat' })
  request.on('close', () => {
    clearInterval(heartbeat)
    unsubscribe()
  })
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
