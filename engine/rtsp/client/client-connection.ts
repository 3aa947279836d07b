import { connect, isIP, type Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { Allowance } from '../../../lib/access/allowance.ts'
import { type Address, RTSPS_PORT } from '../../faults/address.ts'
import { formatRequest, formatResponse, type HeaderFields } from '../protocol/format-message.ts'
import type { RtspMessage, RtspRequest, RtspResponse } from '../protocol/message.ts'
import { MessageParser } from '../protocol/message-parser.ts'
import { ReceiveBuffer } from './receive-buffer.ts'

/** A server that leaves more than this unread does not read at all. */
const MAX_UNREAD_BYTES = 64 * 1024

/** More stray bytes in a row are another protocol, not a mistake of a camera. */
const MAX_STRAY_BYTES = 64 * 1024

/** Frames, requests and responses: 500 Mbit/s in packets of 1,250 bytes. A read of 64 kB may hold 16,000 without content. */
const MESSAGES = { perSecond: 50_000, burst: 8000 } as const
/** Larger ones count as several: 1 Gbit/s. */
const BYTES_OF_MESSAGE = 2500
/** Requests and responses are rare, and cost more than frames. */
const FRAMES_OF_TEXT = 100
/** After a read with more messages, other sources are read first: they are smaller than those of any video. */
const MESSAGES_IN_A_TURN = 100

/** Abandoned requests whose late responses are recognized. */
const MAX_ABANDONED = 8

/** The server closed the connection before it answered. */
export class ClosedEarly extends Error {}

/** The server does not read. */
export class UnreadError extends Error {}

/** How a server is connected to. */
interface ConnectOptions {
  /** Whose certificates are trusted. Left out: any certificate is, since cameras sign their own. */
  readonly authorities?: SecureContext
  /** Media goes to the server: the caller watches whether the server reads. */
  readonly sends?: boolean
}

/** The server sends more messages than any stream has. */
export class FloodError extends Error {}

/** Everything but responses that comes over the connection. */
interface ConnectionHandlers {
  /** A frame of interleaved RTP or RTCP. Its payload stays valid as long as `holdsFrames` says so. */
  readonly onFrame: (channel: number, payload: Buffer) => void
  readonly onRequest: (request: RtspRequest) => void
  /** Called with the number of bytes read, after the frames and messages that they completed. */
  readonly onRead: (bytes: number) => void
  /** Whether payloads of frames are still needed; called after each chunk. */
  readonly holdsFrames: () => boolean
}

/** Drops everything but responses. */
export const IGNORE: ConnectionHandlers = { onFrame: () => {}, onRequest: () => {}, onRead: () => {}, holdsFrames: () => false }

interface Pending {
  readonly resolve: (response: RtspResponse) => void
  readonly reject: (error: unknown) => void
}

/** A connection to an RTSP server, as its client. */
export class ClientConnection {
  /** Resolves when the connection is closed: to the error that broke it, undefined when the server or `close` closed it. */
  readonly closed: Promise<unknown>
  handlers = IGNORE
  readonly #socket: Socket
  readonly #parser = new MessageParser({ strayBytes: MAX_STRAY_BYTES })
  readonly #allowance = new Allowance(MESSAGES, performance.now())
  #pending: Pending | undefined
  #cseq = 0
  /** CSeq of requests whose responses are no longer awaited. */
  readonly #abandoned = new Set<number>()
  readonly #mostUnread: number
  #error: unknown

  /** `socket` is connected. */
  private constructor(socket: Socket, { sends = false }: ConnectOptions) {
    this.#socket = socket
    this.#mostUnread = sends ? Number.POSITIVE_INFINITY : MAX_UNREAD_BYTES
    const closed = Promise.withResolvers<unknown>()
    this.closed = closed.promise
    socket.on('error', (error) => {
      this.#error ??= error
    })
    // The server sends nothing more.
    socket.once('end', () => socket.destroy())
    socket.once('close', () => {
      this.#pending?.reject(this.#error ?? new ClosedEarly())
      closed.resolve(this.#error)
    })
    // Inside TLS; a plain connection is read by `open`.
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
  }

  /** Takes frames made by formatInterleaved, each in one write. */
  get out(): Writable {
    return this.#socket
  }

  /** The addresses of both ends, without a port; empty once the connection is closed. */
  get addresses(): { readonly local: string; readonly remote: string } {
    return { local: this.#socket.localAddress ?? '', remote: this.#socket.remoteAddress ?? '' }
  }

  /** Connects to the server of an address. Rejects with the socket's error, or the reason of `deadline`. */
  static open({ scheme, host, port: given }: Address, deadline: AbortSignal, options: ConnectOptions = {}): Promise<ClientConnection> {
    const trust = options.authorities === undefined ? { rejectUnauthorized: false } : { secureContext: options.authorities }
    return new Promise((resolve, reject) => {
      deadline.throwIfAborted()
      const secure = scheme === 'rtsps'
      const port = given ?? (secure ? RTSPS_PORT : 554)
      const received = new ReceiveBuffer()
      let connection: ClientConnection | undefined
      const callback = (bytes: number): boolean => {
        const chunk = received.take(bytes)
        if (connection === undefined) return true
        connection.#read(chunk)
        if (!connection.#holds) received.reuse()
        return true
      }
      const socket = secure
        ? connectTls({ host, port, ...trust, ...(isIP(host) === 0 && { servername: host }) })
        : connect({ host, port, noDelay: true, onread: { buffer: received.room, callback } })
      const onAbort = (): void => fail(deadline.reason)
      const fail = (reason: unknown): void => {
        deadline.removeEventListener('abort', onAbort)
        socket.destroy()
        reject(reason)
      }
      deadline.addEventListener('abort', onAbort)
      socket.once('error', fail)
      socket.once(secure ? 'secureConnect' : 'connect', () => {
        deadline.removeEventListener('abort', onAbort)
        socket.removeListener('error', fail)
        connection = new ClientConnection(socket, options)
        resolve(connection)
      })
    })
  }

  /**
   * Sends a request and resolves to its response; one at a time. Rejects when the connection breaks (ClosedEarly when it is closed) and
   * with the reason of `deadline`; a response that comes later is dropped.
   */
  request(method: string, url: string, headers: HeaderFields, deadline: AbortSignal, body?: string): Promise<RtspResponse> {
    return new Promise((resolve, reject) => {
      if (deadline.aborted) return reject(deadline.reason)
      if (this.#socket.destroyed) return reject(this.#error ?? new ClosedEarly())
      this.#cseq += 1
      const cseq = this.#cseq
      const finish = (settle: () => void): void => {
        deadline.removeEventListener('abort', onAbort)
        if (this.#pending === pending) this.#pending = undefined
        settle()
      }
      const onAbort = (): void => {
        this.#abandon(cseq)
        finish(() => reject(deadline.reason))
      }
      const pending: Pending = {
        resolve: (response) => finish(() => resolve(response)),
        reject: (error) => finish(() => reject(error)),
      }
      deadline.addEventListener('abort', onAbort)
      this.#pending = pending
      this.#write(formatRequest(method, url, { CSeq: cseq, 'User-Agent': 'video-pipeline-service', ...headers }, body))
    })
  }

  /** Answers a request of the server. */
  respond(request: RtspRequest, status: number, headers: HeaderFields = {}): void {
    this.#write(formatResponse(status, { CSeq: request.headers.get('cseq'), ...headers }))
  }

  /** Sends a frame made by formatInterleaved. */
  sendFrame(frame: Buffer): void {
    this.#write(frame)
  }

  /** Closes the connection; `closed` then resolves to this error. */
  fail(error: unknown): void {
    this.#error ??= error
    this.#socket.destroy()
  }

  close(): void {
    this.#socket.destroy()
  }

  #write(data: Buffer): void {
    if (this.#socket.destroyed) return
    if (this.#socket.writableLength > this.#mostUnread) this.fail(new UnreadError())
    else this.#socket.write(data)
  }

  /** Whether a part of the read bytes is still needed. */
  get #holds(): boolean {
    return this.#parser.holds || this.handlers.holdsFrames()
  }

  #read(chunk: Buffer): void {
    try {
      const messages = this.#parser.push(chunk)
      if (!this.#allowance.use(weightOf(messages, chunk.length), performance.now())) throw new FloodError()
      for (const message of messages) this.#take(message)
      this.handlers.onRead(chunk.length)
      if (messages.length > MESSAGES_IN_A_TURN) this.#letOthersRead()
    } catch (error) {
      this.fail(error)
    }
  }

  #letOthersRead(): void {
    this.#socket.pause()
    setImmediate(() => this.#socket.resume())
  }

  #take(message: RtspMessage): void {
    // Messages after the end, in the same read.
    if (this.#socket.destroyed) return
    if (message.kind === 'interleaved') this.handlers.onFrame(message.channel, message.payload)
    else if (message.kind === 'request') this.handlers.onRequest(message)
    else if (!this.#abandoned.delete(Number(message.headers.get('cseq')))) this.#pending?.resolve(message)
  }

  // Only late responses are matched by CSeq: some servers send a wrong one or none.
  #abandon(cseq: number): void {
    this.#abandoned.add(cseq)
    const [oldest] = this.#abandoned
    if (this.#abandoned.size > MAX_ABANDONED && oldest !== undefined) this.#abandoned.delete(oldest)
  }
}

const weightOf = (messages: readonly RtspMessage[], bytes: number): number => {
  const texts = messages.reduce((count, { kind }) => count + (kind === 'interleaved' ? 0 : 1), 0)
  return Math.max(messages.length, bytes / BYTES_OF_MESSAGE) + texts * FRAMES_OF_TEXT
}
