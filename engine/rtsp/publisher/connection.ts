import { isIPv6, type Socket } from 'node:net'
import type { Log } from '../../../lib/ports.ts'
import { formatResponse, MessageParser, type RtspMessage, RtspProtocolError, type RtspRequest } from '../protocol/message.ts'
import type { PublisherLimits } from './limits.ts'
import { REQUEST_LIMITS } from './limits.ts'
import type { MountPoint } from './mount.ts'
import { type Answer, answerRequest, type Requester } from './respond.ts'
import { RtspSession } from './session.ts'

/** What a connection needs of its publisher. */
export interface ConnectionHost {
  readonly log: Log
  readonly limits: PublisherLimits
  readonly serverName: string
  readonly now: () => number
  readonly findMount: (localAddress: string, port: number, path: string) => MountPoint | undefined
  readonly mayOpenUdp: () => boolean
  readonly onClose: (connection: RtspConnection) => void
}

/** Answers that a peer lets wait; more means that it does not read. */
const MAX_ANSWER_BYTES = 256 * 1024

/** An IPv4 peer of a dual stack socket shows as ::ffff:a.b.c.d. */
const plainAddress = (address: string | undefined): string => (address ?? '').replace(/^::ffff:(?=\d+\.)/i, '')

/** One RTSP connection: reads requests in their order, answers them, and ends what hangs on it. */
export class RtspConnection implements Requester {
  readonly log: Log
  readonly limits: PublisherLimits
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly #host: ConnectionHost
  readonly #socket: Socket
  readonly #parser = new MessageParser(REQUEST_LIMITS)
  readonly #abort = new AbortController()
  readonly #openedMs = performance.now()
  #requests: RtspRequest[] = []
  #answering = false
  #answered = 0
  #lastRequestMs = performance.now()
  #allowance: number
  #session: RtspSession | undefined

  constructor(socket: Socket, host: ConnectionHost) {
    this.#socket = socket
    this.#host = host
    this.log = host.log
    this.limits = host.limits
    this.localAddress = plainAddress(socket.localAddress)
    this.localPort = socket.localPort ?? 0
    this.remoteAddress = plainAddress(socket.remoteAddress)
    this.#allowance = host.limits.requestsPerSecond * 10
    socket.on('data', (chunk) => this.#receive(chunk))
    socket.on('error', () => socket.destroy())
    // A peer that has ended its side will send no request; RTSP knows no half-open connection.
    socket.on('end', () => socket.destroy())
    socket.on('close', () => this.#closed())
  }

  get session(): RtspSession | undefined {
    return this.#session
  }

  /** Aborted when the connection is gone. */
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
    return this.#host.mayOpenUdp()
  }

  createSession(mount: MountPoint): RtspSession {
    const session = new RtspSession(mount, this.#socket, this.limits, () => this.#sessionEnded(session))
    this.#session = session
    this.log.debug('rtsp_session', { path: mount.path, remote: this.remoteAddress })
    return session
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Ends what is overdue; called every second. */
  checkTimes(nowMs: number): void {
    const reason = this.#session ? this.#session.overdue(nowMs) : this.#idle(nowMs)
    this.#allowance = Math.min(this.limits.requestsPerSecond * 10, this.#allowance + this.limits.requestsPerSecond)
    if (reason === undefined) return
    this.log.info('rtsp_dropped', { reason, remote: this.remoteAddress, path: this.#session?.mount.path })
    this.#socket.destroy()
  }

  #idle(nowMs: number): 'no_request' | 'idle' | undefined {
    if (this.#answering) return undefined
    if (this.#answered === 0) return nowMs - this.#openedMs > this.limits.firstRequestMs ? 'no_request' : undefined
    return nowMs - this.#lastRequestMs > this.limits.idleMs ? 'idle' : undefined
  }

  #receive(chunk: Buffer): void {
    try {
      for (const message of this.#parser.push(chunk)) this.#message(message)
    } catch (error) {
      this.#refuse(error)
    }
  }

  #message(message: RtspMessage): void {
    if (message.kind === 'interleaved') this.#session?.receiveReport(message.payload)
    else if (message.kind === 'request') this.#enqueue(message)
  }

  #enqueue(request: RtspRequest): void {
    this.#allowance -= 1
    const flood = this.#allowance < 0 || this.#requests.length >= this.limits.pipelinedRequests
    const unread = this.#session?.playing !== true && this.#socket.writableLength > MAX_ANSWER_BYTES
    if (flood || unread) {
      this.log.info('rtsp_dropped', { reason: flood ? 'too_many_requests' : 'answers_not_read', remote: this.remoteAddress })
      this.#socket.destroy()
      return
    }
    this.#requests.push(request)
    if (!this.#answering) void this.#answerAll()
  }

  async #answerAll(): Promise<void> {
    this.#answering = true
    for (let request = this.#requests.shift(); request && !this.signal.aborted; request = this.#requests.shift()) {
      this.#session?.touch()
      const answer = await answerRequest(this, request).catch((error: unknown): Answer => {
        this.log.error('rtsp_request_failed', { method: request?.method, message: error instanceof Error ? error.message : String(error) })
        return { status: 500 }
      })
      this.#write(request, answer)
      this.#lastRequestMs = performance.now()
      this.#answered += 1
    }
    this.#answering = false
  }

  #write(request: RtspRequest, answer: Answer): void {
    if (this.signal.aborted) return
    const cseq = request.headers.get('cseq')
    const headers = {
      CSeq: cseq !== undefined && /^\d{1,10}$/.test(cseq) ? cseq : undefined,
      Date: new Date(this.#host.now()).toUTCString(),
      Server: this.#host.serverName,
      ...answer.headers,
    }
    this.#socket.write(formatResponse(answer.status, headers, answer.body))
    answer.afterwards?.()
  }

  #refuse(error: unknown): void {
    const protocolError = error instanceof RtspProtocolError
    this.log.debug('rtsp_dropped', { reason: protocolError ? error.message : 'failed', remote: this.remoteAddress })
    // Who has never spoken RTSP here (HTTP, TLS, a port scan) gets no answer.
    if (protocolError && this.#answered > 0 && this.#session?.playing !== true) {
      this.#socket.end(formatResponse(error.status, { Connection: 'close', Server: this.#host.serverName }))
      this.#socket.removeAllListeners('data').resume()
    } else this.#socket.destroy()
  }

  /** A torn down session leaves the connection open for another; one that was ended from here takes the connection along. */
  #sessionEnded(session: RtspSession): void {
    if (this.#session === session) this.#session = undefined
    this.#lastRequestMs = performance.now()
    if (this.#answering || this.signal.aborted) return
    // What was written before, the goodbye at last, may still go out.
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
