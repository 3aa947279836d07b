import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { createServerAdapter, sendNodeResponse } from '@whatwg-node/server'
import { forwardedAddress } from '../../../lib/access/forwarded-address.ts'
import { hostName } from '../../../lib/access/host-name.ts'
import { ApiError, errorBody } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/ports.ts'
import type { RequestContext, Router } from '../../http/router.ts'
import { streamOf } from '../../http/streams/stream-body.ts'
import { countPieces } from './count-pieces.ts'
import { trackConnections } from './drain.ts'
import { isBodyLost, withMount, withOwnView } from './framework.ts'
import { limitPerAddress } from './limit-per-address.ts'
import { limitPerTurn } from './limit-per-turn.ts'
import { sendStream } from './send-stream.ts'
import { writeReady } from './write-ready.ts'

/** Limits of the HTTP server; handlers/http/body.ts limits the body. */
const LIMITS = {
  headerBytes: 16 * 1024,
  urlBytes: 8 * 1024,
  /** From the first byte of a request to its last header, and to the end of its body, milliseconds. */
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  /** How often both timeouts are checked. */
  checkIntervalMs: 2000,
  connections: 10_000,
  connectionsPerAddress: 256,
  /** Of one connection, sent ahead of their answers (RFC 9112 section 9.3.2). */
  pipelinedRequests: 100,
  /** Of the bodies of one connection. */
  pieces: { perSecond: 500, burst: 2000 },
  /** How long an address that floods is refused, milliseconds. */
  refuseMs: 10_000,
  /** How long a client that still sends a body may read the last answer, milliseconds. */
  lingerMs: 1000,
}

type Limits = typeof LIMITS

/** Methods of no resource; TRACE would echo credentials (RFC 9110 section 9.3.8). */
const REFUSED_METHODS = new Set(['TRACE', 'TRACK', 'CONNECT'])

interface HttpServerOptions {
  readonly app: (request: Request, context: RequestContext) => Promise<Response>
  /** Answers reads of the API without `app`. */
  readonly read?: Router['read']
  readonly trustProxy: boolean
  readonly log: Log
  /** Replaces some of the default limits. */
  readonly limits?: Partial<Limits>
}

/** node:http in front of the fetch app; refuses requests that the whatwg adapter would not handle correctly. */
export const createHttpServer = (options: HttpServerOptions): Server => {
  const limits = { ...LIMITS, ...options.limits }
  const server = createServer({ ...serverOptions(limits), IncomingMessage: countPieces(limits.pieces, (socket) => cut(socket)) })
  server.headersTimeout = limits.headersTimeoutMs
  server.requestTimeout = limits.requestTimeoutMs
  server.keepAliveTimeout = limits.keepAliveTimeoutMs
  server.maxConnections = limits.connections
  server.on('clientError', onClientError)
  const running = trackConnections(server)
  const listener = limitPerTurn(createRequestListener(options))
  // Behind a proxy all connections have its address.
  const cutOfAddress = options.trustProxy
    ? (socket: Socket): unknown => socket.destroy()
    : limitPerAddress(server, { connections: limits.connectionsPerAddress, refuseMs: limits.refuseMs }, options.log)
  const cut = (socket: Socket): void => {
    options.log.warn('connection_cut', { reason: 'flood', client_address: socket.remoteAddress })
    cutOfAddress(socket)
  }
  server.on('request', (request, response) => {
    const { socket } = request
    // Node parses further requests as long as no answer waits to be sent, and each takes kilobytes.
    if (!socket.destroyed && running(socket) > limits.pipelinedRequests) cut(socket)
    // After the last answer nothing more is done for a client (RFC 9112 section 9.6).
    if (socket.destroyed || socket.writableEnded) return
    endAfterAnswer(request, response, limits.lingerMs)
    listener(request, response)
  })
  return server
}

/**
 * Ends a connection whose answer comes before the end of a chunked body, with a header field that says so: the rest would be read
 * uncounted. A body with a length costs little. Before it is closed the client may read the answer: closing a socket with unread bytes
 * resets the connection, and what was sent last may be lost (RFC 9112 section 9.6).
 */
const endAfterAnswer = (request: IncomingMessage, response: ServerResponse, lingerMs: number): void => {
  const { headers, socket } = request
  const chunked = headers['transfer-encoding'] !== undefined
  if (!chunked && headers['content-length'] === undefined) return
  if (chunked) closeUnlessRead(request, response)
  // Before that of Node, which calls destroySoon.
  response.prependOnceListener('finish', () => {
    if (request.complete) return
    socket.destroySoon = () => {
      socket.end()
      if (chunked) socket.pause()
      setTimeout(() => socket.destroy(), lingerMs).unref()
    }
  })
}

const closeUnlessRead = (request: IncomingMessage, response: ServerResponse): void => {
  const { shouldKeepAlive } = response
  response.shouldKeepAlive = false
  request.once('end', () => {
    response.shouldKeepAlive = shouldKeepAlive
  })
}

type RequestListener = (request: IncomingMessage, response: ServerResponse) => void

/** The request listener, also for a node:http server of the embedding program. */
export const createRequestListener = ({ app, read, trustProxy, log, limits }: HttpServerOptions): RequestListener => {
  const { urlBytes } = { ...LIMITS, ...limits }
  const adapter = createServerAdapter<{ req: IncomingMessage; res: ServerResponse }>((request, { req, res }) =>
    app(request, {
      clientAddress: clientAddress(req, trustProxy),
      requestId: String(res.getHeader(REQUEST_ID)),
      disconnect: () => res.destroy(),
    }),
  )
  return (request, response) => {
    const requestId = requestIdOf(request)
    toOriginForm(request)
    const refusal = refuse(request, urlBytes)
    if (refusal !== undefined) {
      log.debug('request_refused', { request_id: requestId, code: refusal.code, message: refusal.message })
      return sendError(response, refusal, requestId)
    }
    const fail = (error: unknown): void => {
      log.error('http_adapter_failed', { request_id: requestId, method: request.method, error })
      sendError(response, new ApiError('INTERNAL_ERROR', 'The service failed. Search its log for the request id.'), requestId)
    }
    const viaApp = async (): Promise<void> => {
      response.setHeader(REQUEST_ID, requestId)
      addReasonPhrase(response)
      const answer = withMount(
        request,
        await withOwnView(request, () => adapter.handleNodeRequestAndResponse(request, response, { req: request, res: response })),
      )
      const stream = streamOf(answer)
      // Not awaited, so that nothing of the request is kept while a stream lasts.
      if (stream === undefined) await sendNodeResponse(answer, response, request, true)
      else sendStream(answer, stream, response)
    }
    const context = { clientAddress: clientAddress(request, trustProxy), requestId }
    const { method = '', url = '' } = request
    const ready = read?.({ method, url, headers: headersOf(request) }, url, context)
    const answered = ready === undefined ? viaApp() : ready.then((answer) => writeReady(response, answer, { [REQUEST_ID]: requestId }))
    answered.catch(fail)
  }
}

/** The header fields for the guard, without a copy of all of them. */
const headersOf = ({ headers }: IncomingMessage): Pick<Headers, 'get'> => ({
  get: (name) => {
    const value = headers[name]
    return typeof value === 'string' ? value : (value?.join(', ') ?? null)
  },
})

// Node answers a missing Host without a body; `refuse` explains it.
const serverOptions = ({ headerBytes, checkIntervalMs }: Limits) => ({
  maxHeaderSize: headerBytes,
  connectionsCheckingInterval: checkIntervalMs,
  requireHostHeader: false,
})

/** The adapter passes on the status text of a Response, which is empty; node:http knows the phrase of each status (RFC 9110 section 15). */
const addReasonPhrase = (response: ServerResponse): void => {
  const writeHead = response.writeHead.bind(response)
  response.writeHead = (status: number, ...rest: unknown[]) => {
    const [reason, ...headers] = typeof rest[0] === 'string' ? rest : [undefined, ...rest]
    return writeHead(status, (reason as string | undefined) || STATUS_CODES[status], ...(headers as [OutgoingHttpHeaders?]))
  }
}

const REQUEST_ID = 'x-request-id'
const SANE_REQUEST_ID = /^[A-Za-z0-9._:/+=-]{1,128}$/

/** The request id of a proxy or client, so that its log and ours can be joined; a new id when it is missing or malformed. */
const requestIdOf = ({ headers }: IncomingMessage): string => {
  const given = headers[REQUEST_ID]
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID()
}

/** Scheme, authority and the rest of a target in absolute form (RFC 9112 section 3.2.2). */
const ABSOLUTE = /^https?:\/\/([^/?#]*)((?:[/?][^#]*)?)$/i

/**
 * Brings the request into the form of path and Host. The authority of a target in absolute form replaces the Host (RFC 9112
 * section 3.2.2). Without Host, which HTTP/1.0 allows, it is the address that was connected to.
 */
const toOriginForm = (request: IncomingMessage): void => {
  const { headers, httpVersion, socket, url = '' } = request
  const [, authority, rest = ''] = (url.startsWith('/') ? null : ABSOLUTE.exec(url)) ?? []
  // Exactly one Host is needed even so.
  if (authority !== undefined && (hostFields(request) === 1 || httpVersion === '1.0')) {
    request.url = rest.startsWith('/') ? rest : `/${rest}`
    headers.host = authority
  } else if (httpVersion === '1.0' && headers.host === undefined) {
    headers.host = hostOf(socket)
  }
}

/** How many Host fields the request came with. */
const hostFields = ({ rawHeaders }: IncomingMessage): number => {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') count += 1
  return count
}

const hostOf = ({ localAddress = '127.0.0.1', localPort }: IncomingMessage['socket']): string => {
  const [address = ''] = localAddress.replace(/^::ffff:(?=\d+\.)/, '').split('%', 1)
  return `${address.includes(':') ? `[${address}]` : address}:${localPort}`
}

const ALLOWED = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** For a request that is wrong outside of its body and query. */
const notValid = (message: string): ApiError => new ApiError('VALIDATION_ERROR', message, { issues: [{ path: '', message }] })

const BODY_LOST = 'A parser of the application has read the body. Put the service before its parsers, or send application/json.'

const refuse = (request: IncomingMessage, urlBytes: number): ApiError | undefined => {
  if (REFUSED_METHODS.has(request.method ?? ''))
    return new ApiError('METHOD_NOT_ALLOWED', 'Method not allowed; use GET, HEAD, POST, PUT, PATCH or DELETE.', { allow: ALLOWED })
  if ((request.url ?? '').length > urlBytes) return notValid(`The URL of the request is too long. Use at most ${urlBytes} bytes.`)
  if (!(request.url ?? '').startsWith('/')) return notValid('The request target is not a path. Start it with a slash.')
  if (isBodyLost(request)) return notValid(BODY_LOST)
  if (!hasValidHost(request)) return notValid('The Host header is missing or not valid. Send one valid Host header.')
  return undefined
}

/** Exactly one valid Host, or none in HTTP/1.0 (RFC 9112 section 3.2): the adapter would answer any other with a stack trace. */
const hasValidHost = (request: IncomingMessage): boolean => {
  const fields = hostFields(request)
  return (fields === 1 || (fields === 0 && request.httpVersion === '1.0')) && hostName(request.headers.host ?? '') !== undefined
}

const sendError = (response: ServerResponse, error: ApiError, requestId: string): void => {
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = JSON.stringify(errorBody(error))
  const allow = error.code === 'METHOD_NOT_ALLOWED' ? { allow: ALLOWED.join(', ') } : {}
  response.writeHead(error.status, {
    [REQUEST_ID]: requestId,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...allow,
  })
  response.end(body)
}

const NOT_HTTP = { status: '400 Bad Request', message: 'The request is not valid HTTP. Send an HTTP/1.1 request.' }
const BROKEN: Readonly<Record<string, typeof NOT_HTTP>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: `The request headers are too large. Send at most ${LIMITS.headerBytes} bytes.`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'The request took too long to arrive. Send it again.' },
}

/** Answers input that is not valid HTTP with a readable error. */
const onClientError = (error: NodeJS.ErrnoException, socket: NodeJS.WritableStream & { writable: boolean; destroy(): void }): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = BROKEN[error.code ?? ''] ?? NOT_HTTP
  const body = JSON.stringify(errorBody(notValid(message)))
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}

/** The address of the client; behind a proxy, as the proxy states it. */
const clientAddress = (request: IncomingMessage, trustProxy: boolean): string => {
  const peer = request.socket.remoteAddress ?? 'unknown'
  return trustProxy ? (forwardedAddress([request.headers['x-forwarded-for'] ?? ''].flat().join()) ?? peer) : peer
}
