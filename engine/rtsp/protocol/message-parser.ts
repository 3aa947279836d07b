import { DOLLAR } from './interleaved.ts'
import { RtspHeaders, type RtspMessage } from './message.ts'

interface MessageLimits {
  readonly lineBytes: number
  readonly headerCount: number
  /** Start line and headers together. */
  readonly headerBytes: number
  readonly bodyBytes: number
  /** Bytes in a row, after the first frame, that may be skipped because they begin neither a frame nor a message. */
  readonly strayBytes: number
}

const DEFAULT_LIMITS: MessageLimits = { lineBytes: 4096, headerCount: 64, headerBytes: 16 * 1024, bodyBytes: 256 * 1024, strayBytes: 0 }

/** The peer violated the protocol or a limit; the connection cannot be read any further. `status` is the response of a server before it closes. */
export class RtspProtocolError extends Error {
  readonly status: number

  constructor(message: string, status = 400) {
    super(message)
    this.name = 'RtspProtocolError'
    this.status = status
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
const REQUEST_LINE = /^([A-Za-z_]{1,32}) (\S+) RTSP\/(\d{1,3}\.\d{1,3})$/
const STATUS_LINE = /^RTSP\/(\d{1,3}\.\d{1,3}) (\d{3})(?: (.*))?$/
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*:(.*)$/
const EMPTY = Buffer.alloc(0)

/** Splits a byte stream into RTSP messages and interleaved frames. Throws RtspProtocolError, and again on every later call. */
export class MessageParser {
  readonly #limits: MessageLimits
  #chunks: Buffer[] = []
  #bytes = 0
  /** Bytes needed before the next attempt to parse, so that a body in small pieces is not copied for each. */
  #needed = 1
  #head: Head | undefined
  #hasFrames = false
  /** Bytes skipped since the last frame or message. */
  #stray = 0
  #failed = false

  constructor(limits: Partial<MessageLimits> = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits }
  }

  /** A part of the chunks is still needed. */
  get holds(): boolean {
    return this.#bytes > 0
  }

  /** The messages that this chunk completes. Payloads of frames are views of the chunks. */
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
    const data = this.#chunks.length === 1 && first ? first : joined(this.#chunks)
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

  /** Bytes consumed from `offset` on; 0 when more are needed. */
  #next(data: Buffer, offset: number, messages: RtspMessage[]): number {
    const available = data.length - offset
    if (this.#head !== undefined) return this.#body(this.#head, data, offset, messages)
    this.#needed = available + 1
    const byte = data[offset]
    if (byte === undefined) return 0
    // Among stray bytes, not every dollar sign begins a frame.
    if (byte === DOLLAR && (this.#stray === 0 || mayBegin(data, offset))) return this.#frame(data, offset, messages)
    // Blank lines between messages are allowed, as in HTTP/1.1 (RFC 2326 section 4).
    if (byte === CR || byte === LF) return 1
    if (this.#hasFrames && this.#limits.strayBytes > 0 && !mayBegin(data, offset)) return this.#skip(data, offset)
    return this.#readHead(data, offset)
  }

  /** Some cameras write other bytes between their frames. */
  #skip(data: Buffer, offset: number): number {
    let end = offset + 1
    while (end < data.length && !mayBegin(data, end)) end += 1
    this.#stray += end - offset
    if (this.#stray > this.#limits.strayBytes) throw new RtspProtocolError('Too many bytes are neither a frame nor a message')
    return end - offset
  }

  #frame(data: Buffer, offset: number, messages: RtspMessage[]): number {
    const available = data.length - offset
    this.#needed = available < 4 ? 4 : 4 + data.readUInt16BE(offset + 2)
    if (available < 4 || available < this.#needed) return 0
    this.#hasFrames = true
    this.#stray = 0
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
      // Refuses other protocols (TLS, HTTP) at their first line, before the headers are complete.
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
    this.#stray = 0
    const body = head.bodyBytes === 0 ? EMPTY : Buffer.from(data.subarray(offset, offset + head.bodyBytes))
    messages.push({ ...head.start, headers: head.headers, body })
    // A message without a body consumes no further byte: the next message begins at the same offset.
    return head.bodyBytes === 0 ? this.#next(data, offset, messages) : head.bodyBytes
  }
}

/** The chunks in one buffer, without a copy when they are adjacent in memory. */
const joined = (chunks: readonly Buffer[]): Buffer => {
  const [first] = chunks
  let end = first?.byteOffset
  for (const { buffer, byteOffset, length } of chunks) {
    if (buffer !== first?.buffer || byteOffset !== end) return Buffer.concat(chunks)
    end += length
  }
  return first === undefined || end === undefined ? EMPTY : Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset)
}

/** How responses begin, and the requests of a server (RFC 2326 section 10): four bytes of each. */
const BEGINNINGS = ['RTSP', 'OPTI', 'GET_', 'SET_', 'ANNO', 'REDI', 'TEAR']
const BEGINNING_WORDS = new Set(BEGINNINGS.map((text) => Buffer.from(text).readUInt32BE()))

/** Whether a frame of RTP or RTCP (version 2) or a message of a server may begin here, as far as the bytes are there. */
const mayBegin = (data: Buffer, offset: number): boolean => {
  if (data[offset] === DOLLAR) return (data[offset + 4] ?? 0x80) >> 6 === 2
  if (data.length - offset >= 4) return BEGINNING_WORDS.has(data.readUInt32BE(offset))
  return BEGINNINGS.some((text) => text.startsWith(data.toString('latin1', offset)))
}

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
  // Two different lengths allow request smuggling.
  if (!/^\d{1,10}$/.test(text) || lengths.some((other) => other !== text)) throw new RtspProtocolError('Content-Length is not a number')
  const bytes = Number(text)
  if (bytes > limits.bodyBytes) throw new RtspProtocolError('The body is too large', 413)
  return bytes
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
    headers.append(match[1] ?? '', withoutBlanks(match[2] ?? ''))
  }
  return headers
}

const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'

/**
 * The text without the blanks around it. A loop: an expression takes quadratic time for many blanks inside, and trim() removes bytes of
 * UTF-8.
 */
const withoutBlanks = (text: string): string => {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text[start])) start += 1
  while (end > start && isBlank(text[end - 1])) end -= 1
  return text.slice(start, end)
}
