import { STATUS_REASONS } from './status.ts'

/** RTSP/1.0 messages (RFC 2326) and interleaved frames (section 10.12), for both ends of a connection. */

export interface RtspRequest {
  readonly kind: 'request'
  readonly method: string
  readonly url: string
  /** `1.0`, or what the peer claims; a server answers 505 to anything else. */
  readonly version: string
  readonly headers: RtspHeaders
  readonly body: Buffer
}

export interface RtspResponse {
  readonly kind: 'response'
  readonly status: number
  readonly reason: string
  readonly version: string
  readonly headers: RtspHeaders
  readonly body: Buffer
}

/** `$`, channel, length, payload: RTP or RTCP inside the RTSP connection. */
export interface InterleavedFrame {
  readonly kind: 'interleaved'
  readonly channel: number
  readonly payload: Buffer
}

export type RtspMessage = RtspRequest | RtspResponse | InterleavedFrame

export interface MessageLimits {
  readonly lineBytes: number
  readonly headerCount: number
  /** Start line and headers together. */
  readonly headerBytes: number
  readonly bodyBytes: number
}

export const DEFAULT_MESSAGE_LIMITS: MessageLimits = { lineBytes: 4096, headerCount: 64, headerBytes: 16 * 1024, bodyBytes: 256 * 1024 }

/** The peer broke the protocol or a bound; the connection cannot be read any further. `status` is what a server answers before it closes. */
export class RtspProtocolError extends Error {
  readonly status: number

  constructor(message: string, status = 400) {
    super(message)
    this.name = 'RtspProtocolError'
    this.status = status
  }
}

/** Headers in their order; names are compared without case (RFC 2326 section 4.2). */
export class RtspHeaders {
  readonly #values = new Map<string, string[]>()

  constructor(entries: Iterable<readonly [string, string]> = []) {
    for (const [name, value] of entries) this.append(name, value)
  }

  append(name: string, value: string): void {
    const key = name.toLowerCase()
    const values = this.#values.get(key)
    if (values) values.push(value)
    else this.#values.set(key, [value])
  }

  /** The first value of a header. */
  get(name: string): string | undefined {
    return this.#values.get(name.toLowerCase())?.[0]
  }

  /** Every value of a header that may be repeated, such as WWW-Authenticate. */
  all(name: string): readonly string[] {
    return this.#values.get(name.toLowerCase()) ?? []
  }
}

interface Head {
  readonly start: StartLine
  readonly headers: RtspHeaders
  readonly bodyBytes: number
}

type StartLine =
  | { readonly kind: 'request'; readonly method: string; readonly url: string; readonly version: string }
  | { readonly kind: 'response'; readonly status: number; readonly reason: string; readonly version: string }

const LF = 0x0a
const CR = 0x0d
const DOLLAR = 0x24
const REQUEST_LINE = /^([A-Za-z_]{1,32}) (\S+) RTSP\/(\d{1,3}\.\d{1,3})$/
const STATUS_LINE = /^RTSP\/(\d{1,3}\.\d{1,3}) (\d{3})(?: (.*))?$/
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*:[ \t]*(.*?)[ \t]*$/
const EMPTY = Buffer.alloc(0)

const parseStartLine = (line: string): StartLine => {
  const request = REQUEST_LINE.exec(line)
  if (request) return { kind: 'request', method: request[1] ?? '', url: request[2] ?? '', version: request[3] ?? '' }
  const response = STATUS_LINE.exec(line)
  if (response) return { kind: 'response', version: response[1] ?? '', status: Number(response[2]), reason: response[3] ?? '' }
  throw new RtspProtocolError('The first line is neither an RTSP request nor a response')
}

const parseBodyBytes = (headers: RtspHeaders, limits: MessageLimits): number => {
  const lengths = headers.all('content-length')
  const [text] = lengths
  if (text === undefined) return 0
  // Two lengths that differ are how one peer is made to read what another did not write (request smuggling).
  if (!/^\d{1,10}$/.test(text) || lengths.some((other) => other !== text)) throw new RtspProtocolError('Content-Length is not a number')
  const bytes = Number(text)
  if (bytes > limits.bodyBytes) throw new RtspProtocolError('The body is too large', 413)
  return bytes
}

/** Splits a byte stream into messages. Throws RtspProtocolError; after that the parser refuses everything. */
export class MessageParser {
  readonly #limits: MessageLimits
  #chunks: Buffer[] = []
  #bytes = 0
  /** Parsing is tried again when this many bytes are there, so that a body that drips in is not copied per drop. */
  #needed = 1
  #head: Head | undefined
  #failed = false

  constructor(limits: Partial<MessageLimits> = {}) {
    this.#limits = { ...DEFAULT_MESSAGE_LIMITS, ...limits }
  }

  /** The messages that this chunk completes. Payloads are views of what was pushed. */
  push(chunk: Buffer): readonly RtspMessage[] {
    if (this.#failed) throw new RtspProtocolError('The connection is broken')
    if (chunk.length === 0) return []
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#needed) return []
    try {
      return this.#parse()
    } catch (error) {
      this.#failed = true
      this.#chunks = []
      throw error
    }
  }

  #parse(): readonly RtspMessage[] {
    const [first] = this.#chunks
    const data = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks)
    const messages: RtspMessage[] = []
    let offset = 0
    for (;;) {
      const step = this.#next(data, offset, messages)
      if (step === 0) break
      offset += step
    }
    const rest = data.subarray(offset)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#bytes = rest.length
    return messages
  }

  /** Bytes taken from `offset` on; 0 when more are needed. */
  #next(data: Buffer, offset: number, messages: RtspMessage[]): number {
    const available = data.length - offset
    if (this.#head !== undefined) return this.#body(this.#head, data, offset, messages)
    this.#needed = available + 1
    const byte = data[offset]
    if (byte === undefined) return 0
    if (byte === DOLLAR) return this.#frame(data, offset, messages)
    // Blank lines between messages are allowed (RFC 2326 section 4.1 by way of HTTP/1.1).
    if (byte === CR || byte === LF) return 1
    return this.#readHead(data, offset)
  }

  #frame(data: Buffer, offset: number, messages: RtspMessage[]): number {
    const available = data.length - offset
    this.#needed = available < 4 ? 4 : 4 + data.readUInt16BE(offset + 2)
    if (available < 4 || available < this.#needed) return 0
    messages.push({ kind: 'interleaved', channel: data[offset + 1] ?? 0, payload: data.subarray(offset + 4, offset + this.#needed) })
    return this.#needed
  }

  #readHead(data: Buffer, offset: number): number {
    const limits = this.#limits
    const lines: string[] = []
    let position = offset
    for (;;) {
      const end = data.indexOf(LF, position)
      const lineBytes = (end === -1 ? data.length : end) - position
      if (lineBytes > limits.lineBytes) throw new RtspProtocolError('A line is too long', 414)
      if ((end === -1 ? data.length : end) - offset > limits.headerBytes) throw new RtspProtocolError('The headers are too long', 413)
      // What does not begin like a message (TLS, HTTP) is refused at its first line, not when its headers are complete.
      if (end === -1) return 0
      const line = data.toString('latin1', position, data[end - 1] === CR && end > position ? end - 1 : end)
      position = end + 1
      if (line === '') break
      if (lines.length === 0) parseStartLine(line)
      if (lines.push(line) > limits.headerCount + 1) throw new RtspProtocolError('Too many headers', 413)
    }
    const headers = parseHeaders(lines.slice(1))
    this.#head = { start: parseStartLine(lines[0] ?? ''), headers, bodyBytes: parseBodyBytes(headers, limits) }
    return position - offset
  }

  #body(head: Head, data: Buffer, offset: number, messages: RtspMessage[]): number {
    this.#needed = head.bodyBytes
    if (data.length - offset < head.bodyBytes) return 0
    this.#head = undefined
    const body = head.bodyBytes === 0 ? EMPTY : data.subarray(offset, offset + head.bodyBytes)
    messages.push({ ...head.start, headers: head.headers, body })
    // A message without a body takes no further byte: go on with the next one at the same place.
    return head.bodyBytes === 0 ? this.#next(data, offset, messages) : head.bodyBytes
  }
}

const parseHeaders = (lines: readonly string[]): RtspHeaders => {
  const unfolded: string[] = []
  for (const line of lines) {
    const last = unfolded.length - 1
    if (/^[ \t]/.test(line) && last >= 0) unfolded[last] = `${unfolded[last]} ${line.trim()}`
    else unfolded.push(line)
  }
  const headers = new RtspHeaders()
  for (const line of unfolded) {
    const match = HEADER_LINE.exec(line)
    if (!match) throw new RtspProtocolError('A header line has no colon')
    headers.append(match[1] ?? '', match[2] ?? '')
  }
  return headers
}

export type HeaderFields = Readonly<Record<string, string | number | undefined>>

// A CR or LF inside a value would end the header and begin another.
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
const CONTROL = /[\u0000-\u001f\u007f]+/g

const formatMessage = (startLine: string, headers: HeaderFields, body: string): Buffer => {
  const bytes = Buffer.byteLength(body)
  const all: HeaderFields = bytes > 0 ? { ...headers, 'Content-Length': bytes } : headers
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${String(value).replace(CONTROL, ' ')}\r\n`],
  )
  return Buffer.from(`${startLine.replace(CONTROL, ' ')}\r\n${lines.join('')}\r\n${body}`)
}

/** A request as bytes; Content-Length is added when there is a body. */
export const formatRequest = (method: string, url: string, headers: HeaderFields, body = ''): Buffer =>
  formatMessage(`${method} ${url} RTSP/1.0`, headers, body)

/** A response as bytes; the reason is the standard's (RFC 2326 section 7.1.1). */
export const formatResponse = (status: number, headers: HeaderFields, body = ''): Buffer =>
  formatMessage(`RTSP/1.0 ${status} ${STATUS_REASONS[status] ?? 'Unknown'}`, headers, body)

/** `$ channel length payload` as bytes. */
export const formatInterleaved = (channel: number, payload: Buffer): Buffer => {
  const frame = Buffer.allocUnsafe(4 + payload.length)
  frame[0] = DOLLAR
  frame[1] = channel
  frame.writeUInt16BE(payload.length, 2)
  payload.copy(frame, 4)
  return frame
}
