import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { type EngineMoment, formatMoment, MOMENT_HEADER } from '../../lib/engine/moment.ts'
import { ApiError, errorBody } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import { type Answered, type ByteSource, dispatch, type EngineAnswers, type FileBytes, type Jpeg } from './dispatch.ts'
import { writeLines } from './lines.ts'

const HEALTH_PATH = '/healthz'
const MAX_BODY_BYTES = 2 * 1024 * 1024

interface EngineServerOptions {
  readonly answers: EngineAnswers
  readonly token: string
  readonly log: Log
  /** The present moment, which is a header field of every answer. */
  readonly moment?: () => EngineMoment
  /** Each authenticated request, and each heartbeat of a stream. */
  readonly onContact: () => void
}

/** The engine's HTTP server: a bearer secret, and the calls of the protocol. */
export const createEngineServer = ({ answers, token, log, moment, onContact }: EngineServerOptions): Server => {
  const secret = sha256(`Bearer ${token}`)
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // For the probes of a container platform, which have no secret: an engine that hangs does not answer.
    if (request.url === HEALTH_PATH) return sendJson(response, 200, { status: 'ok' })
    try {
      if (!timingSafeEqual(sha256(request.headers.authorization ?? ''), secret)) {
        throw new ApiError('UNAUTHORIZED', 'The engine does not know this bearer secret.')
      }
      onContact()
      const url = new URL(request.url ?? '/', 'http://engine')
      const answered = await dispatch(answers, {
        method: request.method ?? '',
        url,
        body: () => readJson(request),
        signal: () => signalOf(response),
      })
      if (moment !== undefined) response.setHeader(MOMENT_HEADER, formatMoment(moment()))
      send(response, answered, onContact)
    } catch (error) {
      const answer = error instanceof ApiError ? error : new ApiError('INTERNAL_ERROR', 'The engine failed to answer.')
      if (answer !== error) log.error('engine_request_failed', { method: request.method, error })
      sendJson(response, answer.status, errorBody(answer))
    }
  }
  const server = createServer((request, response) => void answer(request, response))
  server.requestTimeout = 30_000
  server.keepAliveTimeout = 65_000
  return server
}

const send = (response: ServerResponse, answered: Answered, onContact: () => void): void => {
  if (answered.kind === 'json') sendJson(response, 200, answered.answer ?? null)
  else if (answered.kind === 'text') response.writeHead(200, { 'content-type': answered.call.contentType }).end(answered.answer)
  else if (answered.kind === 'jpeg') sendJpeg(response, answered.answer)
  else if (answered.kind === 'file') sendFile(response, answered.call.contentType, answered.answer)
  else if (answered.kind === 'stream') sendStream(response, answered.call.contentType, answered.answer)
  else writeLines(response, answered.call, answered.answer, onContact)
}

const sendJson = (response: ServerResponse, status: number, value: unknown): void => {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify(value)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
}

const sendJpeg = (response: ServerResponse, { headers, body }: Jpeg): void => {
  response.writeHead(200, { 'content-type': 'image/jpeg', ...headers })
  if (Buffer.isBuffer(body)) response.end(body)
  else pipeline(body, response, () => {})
}

const sendFile = (response: ServerResponse, contentType: string, { status, headers, body }: FileBytes): void => {
  response.writeHead(status, { 'content-type': contentType, ...headers })
  pipeline(body, response, () => {})
}

/**
 * The bytes go to the connection itself, as those of an RTSP reader do, without chunks and without the queue of a response: the
 * answer ends with the connection (RFC 9112 section 6.3).
 */
const sendStream = (response: ServerResponse, contentType: string, source: ByteSource): void => {
  const { socket } = response
  if (response.destroyed || socket === null) return
  response.removeHeader('transfer-encoding')
  response.writeHead(200, { 'content-type': contentType, connection: 'close' })
  response.flushHeaders()
  source(socket)
}

/** Aborts when the connection of the answer has closed. */
const signalOf = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  response.on('close', () => controller.abort())
  return controller.signal
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

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest()
