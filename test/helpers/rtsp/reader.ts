import { createSocket, type Socket as UdpSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, isIPv6, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { formatRequest } from '../../../engine/rtsp/protocol/format-message.ts'
import type { RtspMessage, RtspResponse } from '../../../engine/rtsp/protocol/message.ts'
import { MessageParser } from '../../../engine/rtsp/protocol/message-parser.ts'
import { attribute, parseSdp, type SessionDescription } from '../../../engine/rtsp/protocol/sdp.ts'

/** One RTP packet as received. */
export interface RecordedPacket {
  readonly track: number
  readonly sequence: number
  readonly timestamp: number
  readonly ssrc: number
  readonly marker: boolean
  readonly payloadType: number
  /** The whole packet, header included. */
  readonly data: Buffer
  /** performance.now(). */
  readonly arrivedMs: number
}

interface ReaderOptions {
  readonly transport?: 'tcp' | 'udp'
  /** Media of the description to set up; all by default. */
  readonly tracks?: readonly number[]
  /** false: packets are counted, not kept. */
  readonly record?: boolean
  readonly onPacket?: (packet: RecordedPacket) => void
  /** The Authorization header for the challenges of the newest 401; sent with every request from then on. */
  readonly authorize?: Authorize
  /** Local address to connect from. */
  readonly from?: string
}

export type Authorize = (challenges: readonly string[], method: string, url: string) => string

/** A minimal RTSP client that records RTP without reordering or decoding it. */
export class RtspReader {
  readonly url: string
  readonly packets: RecordedPacket[] = []
  /** RTCP compound packets per track. */
  readonly reports: { readonly track: number; readonly data: Buffer }[] = []
  readonly closed: Promise<void>
  count = 0
  sdp: SessionDescription | undefined
  /** The raw description. */
  description = ''
  session: string | undefined
  /** The response to PLAY. */
  played: RtspResponse | undefined
  readonly #socket: Socket
  readonly #parser = new MessageParser()
  readonly #options: ReaderOptions
  readonly #pending: ((response: RtspResponse) => void)[] = []
  readonly #watchers = new Set<() => void>()
  readonly #udp: UdpSocket[] = []
  /** Interleaved channel → track. */
  readonly #channels = new Map<number, number>()
  #base: string
  #cseq = 0
  #challenges: readonly string[] | undefined

  constructor(url: string, socket: Socket, options: ReaderOptions) {
    this.url = url
    this.#base = url
    this.#socket = socket
    this.#options = options
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        for (const udp of this.#udp) udp.close()
        resolve()
        this.#changed()
      })
    })
    socket.on('error', () => {})
    socket.on('data', (chunk: Buffer) => {
      for (const message of this.#parser.push(chunk)) this.#message(message)
    })
  }

  /** Sends a request with the session header; resolves with its response. A 401 is answered once, if the reader has credentials. */
  async request(
    method: string,
    url = this.#base,
    headers: Readonly<Record<string, string | number>> = {},
    body = '',
  ): Promise<RtspResponse> {
    const response = await this.#requestOnce(method, url, headers, body)
    if (response.status !== 401 || this.#options.authorize === undefined) return response
    this.#challenges = response.headers.all('www-authenticate')
    return this.#requestOnce(method, url, headers, body)
  }

  #requestOnce(method: string, url: string, headers: Readonly<Record<string, string | number>>, body: string): Promise<RtspResponse> {
    this.#cseq += 1
    const session = this.session === undefined ? {} : { Session: this.session }
    const authorization = this.#challenges && this.#options.authorize?.(this.#challenges, method, url)
    const all = { CSeq: this.#cseq, ...session, ...(authorization && { Authorization: authorization }), ...headers }
    this.#socket.write(formatRequest(method, url, all, body))
    return this.nextResponse()
  }

  /** The next response for which no caller waits yet. */
  nextResponse(): Promise<RtspResponse> {
    return new Promise((resolve, reject) => {
      this.#pending.push(resolve)
      void this.closed.then(() => reject(new Error('The connection closed before the response arrived')))
    })
  }

  /** Sends raw bytes, for malformed requests. */
  write(data: string | Buffer): void {
    this.#socket.write(data)
  }

  async describe(): Promise<RtspResponse> {
    const response = await this.request('DESCRIBE', this.url, { Accept: 'application/sdp' })
    if (response.status !== 200) return response
    this.description = response.body.toString()
    this.sdp = parseSdp(this.description)
    this.#base = response.headers.get('content-base') ?? this.url
    return response
  }

  async setUp(track: number): Promise<RtspResponse> {
    const media = this.sdp?.media[track]
    const url = trackUrl(this.#base, (media && attribute(media, 'control')) ?? '')
    const transport =
      this.#options.transport === 'udp' ? await this.#udpTransport(track) : `RTP/AVP/TCP;unicast;interleaved=${2 * track}-${2 * track + 1}`
    const response = await this.request('SETUP', url, { Transport: transport })
    this.session = response.headers.get('session')?.split(';')[0] ?? this.session
    this.#channels.set(2 * track, track)
    return response
  }

  async play(): Promise<RtspResponse> {
    this.played = await this.request('PLAY', this.#base, { Range: 'npt=0.000-' })
    return this.played
  }

  async teardown(): Promise<void> {
    await this.request('TEARDOWN', this.#base)
    await this.close()
  }

  /** Stops reading from the connection, as a stuck player does. */
  stopReading(): void {
    this.#socket.pause()
  }

  resumeReading(): void {
    this.#socket.resume()
  }

  /** Closes the connection without TEARDOWN. */
  async close(): Promise<void> {
    this.#socket.destroy()
    await this.closed
  }

  get open(): boolean {
    return !this.#socket.destroyed
  }

  /** Resolves when the condition holds; checked after every packet. Rejects after `timeoutMs`, or when the connection closes. */
  async until(condition: () => boolean, timeoutMs = 15_000): Promise<void> {
    if (condition()) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error('The reader waited too long')), timeoutMs)
    const watcher = () => {
      if (condition()) resolve()
      else if (!this.open) reject(new Error('The connection closed'))
    }
    this.#watchers.add(watcher)
    try {
      await promise
    } finally {
      clearTimeout(timer)
      this.#watchers.delete(watcher)
    }
  }

  async #udpTransport(track: number): Promise<string> {
    const family = isIPv6(this.#socket.remoteAddress ?? '') ? 'udp6' : 'udp4'
    const ports: number[] = []
    for (const kind of ['rtp', 'rtcp'] as const) {
      const socket = createSocket({ type: family, recvBufferSize: 4 * 1024 * 1024 })
      socket.bind(0)
      await once(socket, 'listening')
      socket.on('message', (data) => (kind === 'rtp' ? this.#packet(track, data) : this.#report(track, data)))
      this.#udp.push(socket)
      ports.push(socket.address().port)
    }
    return `RTP/AVP;unicast;client_port=${ports.join('-')}`
  }

  #message(message: RtspMessage): void {
    if (message.kind === 'response') this.#pending.shift()?.(message)
    if (message.kind !== 'interleaved') return
    const track = this.#channels.get(message.channel & ~1)
    if (track === undefined) throw new Error(`A frame came on channel ${message.channel}, which was not set up`)
    if (message.channel % 2 === 0) this.#packet(track, message.payload)
    else this.#report(track, message.payload)
  }

  #packet(track: number, data: Buffer): void {
    this.count += 1
    const packet: RecordedPacket = {
      track,
      sequence: data.readUInt16BE(2),
      timestamp: data.readUInt32BE(4),
      ssrc: data.readUInt32BE(8),
      marker: ((data[1] ?? 0) & 0x80) !== 0,
      payloadType: (data[1] ?? 0) & 0x7f,
      data,
      arrivedMs: performance.now(),
    }
    if (this.#options.record !== false) this.packets.push(packet)
    this.#options.onPacket?.(packet)
    this.#changed()
  }

  #report(track: number, data: Buffer): void {
    this.reports.push({ track, data })
    this.#changed()
  }

  #changed(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** The URL of a control attribute (RFC 2326 appendix C.1.1). */
const trackUrl = (base: string, control: string): string => (/^rtsps?:/.test(control) ? control : `${base.replace(/\/?$/, '/')}${control}`)

/** Connects, without a request. */
export const connectReader = async (url: string, options: ReaderOptions = {}): Promise<RtspReader> => {
  const { hostname, port } = new URL(url.replace(/^rtsps?:/, 'http:'))
  const address = { port: Number(port), host: hostname.replace(/^\[|\]$/g, ''), localAddress: options.from }
  const secure = url.startsWith('rtsps:')
  const socket = secure ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address)
  await once(socket, secure ? 'secureConnect' : 'connect')
  return new RtspReader(url, socket, options)
}

/** A reader that plays: DESCRIBE, SETUP of the tracks, PLAY. Throws when a response is not 200. */
export const openReader = async (url: string, options: ReaderOptions = {}): Promise<RtspReader> => {
  const reader = await connectReader(url, options)
  const expect200 = async (name: string, response: Promise<RtspResponse>) => {
    const { status } = await response
    if (status === 200) return
    await reader.close()
    throw new Error(`The response to ${name} was ${status}`)
  }
  await expect200('DESCRIBE', reader.describe())
  for (const track of options.tracks ?? reader.sdp?.media.keys() ?? []) await expect200('SETUP', reader.setUp(track))
  await expect200('PLAY', reader.play())
  return reader
}

/** Sequence numbers that are missing, repeated or out of order, as `before→after`; empty when a track is continuous. */
export const sequenceGaps = (packets: readonly RecordedPacket[], track = 0): readonly string[] => {
  const own = packets.filter((packet) => packet.track === track)
  return own.flatMap((packet, at) => {
    const before = own[at - 1]
    return before && ((before.sequence + 1) & 0xffff) !== packet.sequence ? [`${before.sequence}→${packet.sequence}`] : []
  })
}

/** Steps of the RTP timestamp between consecutive access units of a track, in ticks, signed. */
export const timestampSteps = (packets: readonly RecordedPacket[], track = 0): readonly number[] => {
  const own = packets.filter((packet) => packet.track === track)
  return own.flatMap((packet, at) => {
    const before = own[at - 1]
    return before && before.timestamp !== packet.timestamp ? [(packet.timestamp - before.timestamp) | 0] : []
  })
}
