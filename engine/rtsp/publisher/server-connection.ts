import { isIPv6, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { Allowance } from '../../../lib/access/allowance.ts'
import { clientOf } from '../../../lib/access/client-of.ts'
import type { Log } from '../../../lib/ports.ts'
import { type PublisherLimits, REQUEST_LIMITS } from '../../mount/limits.ts'
import type { MountPoint } from '../../mount/mount-point.ts'
import type { Authenticator, Gate } from '../access/authenticator.ts'
import { formatResponse } from '../protocol/format-message.ts'
import type { RtspMessage, RtspRequest } from '../protocol/message.ts'
import { MessageParser, RtspProtocolError } from '../protocol/message-parser.ts'
import type { OutgoingResponse, RequestConnection } from './request-connection.ts'
import { respond } from './respond.ts'
import { ServerSession } from './server-session.ts'

/** The publisher, as its connections use it. */
export interface ConnectionHost {
  readonly log: Log
  readonly limits: PublisherLimits
  readonly now: () => number
  readonly findMount: (localAddress: string, port: number, path: string) => MountPoint | undefined
  readonly mayOpenUdp: (client: string) => boolean
  /** Counts bytes from this address; false when they exceed its limit. */
  readonly mayReceive: (client: string, bytes: number) => boolean
  readonly authenticator: Authenticator
  /** Plain RTSP is refused. */
  readonly tlsRequired: boolean
  readonly onClose: (connection: ServerConnection) => void
}

/** The Server header. */
const SERVER = 'video-pipeline-service'

/** Unsent responses of one connection; with more, the peer does not read. */
const MAX_RESPONSE_BYTES = 256 * 1024

/** A dual-stack socket reports an IPv4 peer as ::ffff:a.b.c.d. */
const plainAddress = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')

/** One RTSP connection: responds to its requests in order, and ends its session when it closes. */
export class ServerConnection implements RequestConnection {
  readonly log: Log
  readonly limits: PublisherLimits
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly client: string
  readonly secure: boolean
  readonly needsTls: boolean
  readonly gate: Gate
  readonly #host: ConnectionHost
  readonly #socket: Socket
  readonly #parser = new MessageParser(REQUEST_LIMITS)
  readonly #abort = new AbortController()
  readonly #openedMs = performance.now()
  readonly #mayRequest: Allowance
  readonly #mayReceive: Allowance
  #requests: RtspRequest[] = []
  #responding = false
  #responses = 0
  #lastRequestMs = performance.now()
  #session: ServerSession | undefined
  guessesRate = false

  constructor(socket: Socket, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.log = host.log
    this.limits = host.limits
    this.localAddress = plainAddress(socket.localAddress)
    this.localPort = socket.localPort ?? 0
    this.remoteAddress = plainAddress(socket.remoteAddress)
    this.client = clientOf(this.remoteAddress)
    this.secure = socket instanceof TLSSocket
    this.needsTls = host.tlsRequired && !this.secure
    this.gate = host.authenticator.gate({ address: this.remoteAddress, secure: this.secure })
    const { requestsPerSecond, received } = host.limits
    this.#mayRequest = new Allowance({ perSecond: requestsPerSecond, burst: requestsPerSecond * 10 }, this.#openedMs)
    this.#mayReceive = new Allowance(received, this.#openedMs)
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', () => socket.destroy())
    // RTSP has no half-open connections.
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.#closed())
    // It was paused for the check of its first byte.
    socket.resume()
  }

  get session(): ServerSession | undefined {
    return this.#session
  }

  /** Aborted when the connection has closed. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get localAuthority(): string {
    return `${isIPv6(this.localAddress) ? `[${this.localAddress}]` : this.localAddress}:${this.localPort}`
  }

  findMount(path: string): MountPoint | undefined {
    return this.#host.findMount(this.localAddress, this.localPort, path)
  }

  mayOpenUdp(): boolean {
    return this.#host.mayOpenUdp(this.client)
  }

  createSession(mount: MountPoint): ServerSession {
    const { client, guessesRate, limits } = this
    const session = new ServerSession(mount, { client, socket: this.#socket, guessesRate }, limits, () => this.#onSessionEnd(session))
    this.#session = session
    this.log.debug('rtsp_session_opened', { path: mount.path, remote: this.remoteAddress })
    return session
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Ends the session with its RTCP BYE, responds to nothing any more, and closes. */
  disconnect(): void {
    this.#abort.abort()
    this.#requests = []
    this.#session?.end()
    this.#finish()
  }

  /** Called every second: drops a connection that is idle, stalled or timed out. */
  checkLimits(nowMs: number): void {
    const reason = this.#session ? this.#session.overdue(nowMs) : this.#idle(nowMs)
    if (reason !== undefined) this.#drop(reason)
  }

  #drop(reason: string): void {
    this.log.info('rtsp_dropped', { reason, remote: this.remoteAddress, path: this.#session?.mount.path })
    this.#socket.destroy()
  }

  #idle(nowMs: number): 'no_request' | 'idle' | undefined {
    if (this.#responding) return undefined
    if (this.#responses === 0) return nowMs - this.#openedMs > this.limits.firstRequestMs ? 'no_request' : undefined
    return nowMs - this.#lastRequestMs > this.limits.idleMs ? 'idle' : undefined
  }

  #receive(chunk: Buffer): void {
    if (!this.#isAllowed(chunk.length)) {
      this.#drop('too_much_data')
      return
    }
    try {
      for (const message of this.#parser.push(chunk)) this.#message(message)
    } catch (error) {
      this.#refuse(error)
    }
  }

  /** Checked before parsing: one read may hold 16,000 empty frames. Playing readers are exempt from the per-address limit. */
  #isAllowed(bytes: number): boolean {
    const ofAddress = this.#host.mayReceive(this.client, bytes)
    return this.#mayReceive.use(bytes, performance.now()) && (ofAddress || this.#session?.playing === true)
  }

  #message(message: RtspMessage): void {
    if (message.kind === 'interleaved') this.#session?.receiveReport(message.payload)
    else if (message.kind === 'request') this.#enqueue(message)
  }

  #enqueue(request: RtspRequest): void {
    // Requests after the one that was too many, in the same read.
    if (this.#socket.destroyed) return
    const flood = !this.#mayRequest.use(1, performance.now()) || this.#requests.length >= this.limits.pipelinedRequests
    const unread = this.#session?.playing !== true && this.#socket.writableLength > MAX_RESPONSE_BYTES
    if (flood || unread) {
      this.#drop(flood ? 'too_many_requests' : 'responses_not_read')
      return
    }
    this.#requests.push(request)
    if (!this.#responding) void this.#respondToAll()
  }

  async #respondToAll(): Promise<void> {
    this.#responding = true
    for (let request = this.#requests.shift(); request && !this.signal.aborted; request = this.#requests.shift()) {
      this.#session?.touch()
      const response = await respond(this, request).catch((error: unknown): OutgoingResponse => {
        this.log.error('rtsp_request_failed', { method: request?.method, message: error instanceof Error ? error.message : String(error) })
        return { status: 500 }
      })
      this.#write(request, response)
      this.#lastRequestMs = performance.now()
      this.#responses += 1
    }
    this.#responding = false
  }

  #write(request: RtspRequest, response: OutgoingResponse): void {
    if (this.signal.aborted) return
    const cseq = request.headers.get('cseq')
    const headers = {
      CSeq: cseq !== undefined && /^\d{1,10}$/.test(cseq) ? cseq : undefined,
      Date: new Date(this.#host.now()).toUTCString(),
      Server: SERVER,
      ...response.headers,
    }
    this.#socket.write(formatResponse(response.status, headers, response.body))
    response.afterWrite?.()
    if (response.close) this.disconnect()
  }

  #refuse(error: unknown): void {
    const protocolError = error instanceof RtspProtocolError
    this.log.debug('rtsp_dropped', { reason: protocolError ? error.message : 'failed', remote: this.remoteAddress })
    // A peer that has not sent RTSP (HTTP, TLS, a port scan) gets no response.
    if (protocolError && this.#responses > 0 && this.#session?.playing !== true) {
      this.#socket.end(formatResponse(error.status, { Connection: 'close', Server: SERVER }))
      this.#socket.removeAllListeners('data').resume()
    } else this.#socket.destroy()
  }

  /** After TEARDOWN the connection stays open for another session; a session that the server ends closes it. */
  #onSessionEnd(session: ServerSession): void {
    if (this.#session === session) this.#session = undefined
    this.#lastRequestMs = performance.now()
    if (this.#responding || this.signal.aborted) return
    this.#finish()
  }

  /** Sends what is buffered first: a response or the RTCP BYE. */
  #finish(): void {
    this.#socket.end()
    setTimeout(() => this.#socket.destroy(), 500).unref()
  }

  #closed(): void {
    this.#abort.abort()
    this.#requests = []
    this.#session?.end()
    this.#host.onClose(this)
  }
}
