/** A field with several values becomes several lines. */
export type HeaderFields = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** A request as bytes (RFC 2326 section 6); Content-Length is added when there is a body. */
export const formatRequest = (method: string, url: string, headers: HeaderFields, body = ''): Buffer =>
  formatMessage(`${method} ${url} RTSP/1.0`, headers, body)

/** A response as bytes (RFC 2326 section 7), with the standard's reason phrase. */
export const formatResponse = (status: number, headers: HeaderFields, body = ''): Buffer =>
  formatMessage(`RTSP/1.0 ${status} ${REASONS[status] ?? 'Unknown'}`, headers, body)

// A CR or LF inside a value would inject another header.
// biome-ignore lint/suspicious/noControlCharactersInRegex: removing them is the point
const CONTROL = /[\u0000-\u001f\u007f]+/g

const formatMessage = (startLine: string, headers: HeaderFields, body: string): Buffer => {
  const bytes = Buffer.byteLength(body)
  const all: HeaderFields = bytes > 0 ? { ...headers, 'Content-Length': bytes } : headers
  const lines = Object.entries(all).flatMap(([name, value]) => {
    const values = value === undefined ? [] : typeof value === 'object' ? value : [String(value)]
    return values.map((one) => `${name}: ${one.replace(CONTROL, ' ')}\r\n`)
  })
  return Buffer.from(`${startLine.replace(CONTROL, ' ')}\r\n${lines.join('')}\r\n${body}`)
}

/** A status with the standard's reason phrase: that of a message may be any text. */
export const shownStatus = (status: number): string => (REASONS[status] === undefined ? String(status) : `${status} (${REASONS[status]})`)

/** Reason phrases (RFC 2326 section 7.1.1). */
const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Time-out',
  413: 'Request Entity Too Large',
  414: 'Request-URI Too Large',
  415: 'Unsupported Media Type',
  451: 'Parameter Not Understood',
  453: 'Not Enough Bandwidth',
  454: 'Session Not Found',
  455: 'Method Not Valid in This State',
  456: 'Header Field Not Valid for Resource',
  457: 'Invalid Range',
  459: 'Aggregate operation not allowed',
  460: 'Only aggregate operation allowed',
  461: 'Unsupported transport',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  503: 'Service Unavailable',
  504: 'Gateway Time-out',
  505: 'RTSP Version not supported',
  551: 'Option not supported',
}
