import { ApiError } from '../../lib/errors.ts'
import { validationError } from '../../lib/validate.ts'

const MAX_BODY_BYTES = 1_048_576

/**
 * The JSON object in a request body, whatever its Content-Type (curl -d sends a form's). Throws PAYLOAD_TOO_LARGE beyond
 * 1 MiB, also without Content-Length, UNSUPPORTED_MEDIA_TYPE for a compressed one, and VALIDATION_ERROR for an empty body or anything but one JSON object.
 */
export const readJson = async (request: Request): Promise<unknown> => {
  const text = await readText(request)
  if (text === '') throw invalidBody('The body is empty')
  return parseObject(text)
}

/** As `readJson`; an empty body is an empty object. */
export const readOptionalJson = async (request: Request): Promise<unknown> => {
  const text = await readText(request)
  return text === '' ? {} : parseObject(text)
}

/** The text of a body of this media type. Throws UNSUPPORTED_MEDIA_TYPE for another one, and PAYLOAD_TOO_LARGE beyond `maxBytes`. */
export const readTyped = async (request: Request, mediaType: string, maxBytes: number): Promise<string> => {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';')
  if (type.trim().toLowerCase() !== mediaType) throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${mediaType}.`)
  return readText(request, maxBytes)
}

const readText = async (request: Request, maxBytes = MAX_BODY_BYTES): Promise<string> => {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.body === null) return ''
  const coding = request.headers.get('content-encoding')
  if (coding !== null && !/^(?:identity)?$/i.test(coding.trim())) throw compressed()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const parts: string[] = []
  let length = 0
  const reader = request.body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.byteLength
      if (length > maxBytes) throw tooLarge(maxBytes)
      parts.push(decode(decoder, value))
    }
  } finally {
    // Not cancelled: on Node that would close the connection before the client can read the answer.
    reader.releaseLock()
  }
  parts.push(decode(decoder))
  return parts.join('')
}

const decode = (decoder: TextDecoder, bytes?: Uint8Array): string => {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined })
  } catch (cause) {
    throw invalidBody('The body is not UTF-8', cause)
  }
}

// Names that every object inherits would pass a check of `key in entries`.
const INHERITED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype))

const parseObject = (text: string): unknown => {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw invalidBody('The body is not JSON', cause)
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalidBody('The body is not a JSON object')
  refuseInherited(body, [])
  return body
}

/** Deeper than any schema here; deeper bodies are refused. */
const MAX_DEPTH = 32

const refuseInherited = (value: object, path: readonly string[]): void => {
  if (path.length > MAX_DEPTH) throw invalidBody('The body is nested too deeply')
  for (const [key, inner] of Object.entries(value)) {
    if (INHERITED.has(key)) throw validationError('body', [{ path: [...path, key].join('.'), message: 'Unknown field' }])
    if (typeof inner === 'object' && inner !== null) refuseInherited(inner, [...path, key])
  }
}

const invalidBody = (message: string, cause?: unknown): ApiError =>
  new ApiError('VALIDATION_ERROR', `${message}. Send one JSON object.`, { issues: [{ path: '', message }] }, { cause })

const compressed = (): ApiError =>
  new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The body is compressed. Send it as it is, without Content-Encoding.')

const tooLarge = (limit: number): ApiError =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body is larger than ${limit} bytes. Send a smaller one.`, { limit_bytes: limit })
