import { ApiError } from '../../lib/errors.ts'
import { validationError } from '../../lib/validate.ts'

export const MAX_BODY_BYTES = 1_048_576

/**
 * The JSON of a request body, whatever its Content-Type says (curl -d names none that fits).
 * Throws PAYLOAD_TOO_LARGE as soon as 1 MiB is passed, also when no length was announced, and
 * VALIDATION_ERROR for an empty body or for anything but one JSON object.
 */
export const readJson = async (request: Request): Promise<unknown> => {
  const text = await readText(request)
  if (text === '') throw validationError('body', [{ path: '', message: 'Send a JSON object' }])
  return parseObject(text)
}

/** As `readJson`; an empty body is an empty object. */
export const readOptionalJson = async (request: Request): Promise<unknown> => {
  const text = await readText(request)
  return text === '' ? {} : parseObject(text)
}

const readText = async (request: Request): Promise<string> => {
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  if (request.body === null) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const parts: string[] = []
  let length = 0
  const reader = request.body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.byteLength
      if (length > MAX_BODY_BYTES) throw tooLarge()
      parts.push(decode(decoder, value))
    }
  } finally {
    // Not cancelled: on Node that would close the connection before the client could read the answer.
    reader.releaseLock()
  }
  parts.push(decode(decoder))
  return parts.join('')
}

const decode = (decoder: TextDecoder, bytes?: Uint8Array): string => {
  try {
    return decoder.decode(bytes, { stream: bytes !== undefined })
  } catch (cause) {
    throw notJson('The body is not UTF-8', cause)
  }
}

// Names that every object inherits would be taken for known fields by a check of `key in entries`.
const INHERITED: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(Object.prototype))

const parseObject = (text: string): unknown => {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (cause) {
    throw notJson('The body is not JSON', cause)
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw notJson('Send a JSON object')
  refuseInherited(body, [])
  return body
}

/** Nesting that no schema of ours comes near to; deeper bodies are refused rather than walked. */
const MAX_DEPTH = 32

const refuseInherited = (value: object, path: readonly string[]): void => {
  if (path.length > MAX_DEPTH) throw notJson('The body is nested too deeply')
  for (const [key, inner] of Object.entries(value)) {
    if (INHERITED.has(key)) throw validationError('body', [{ path: [...path, key].join('.'), message: 'Unknown field' }])
    if (typeof inner === 'object' && inner !== null) refuseInherited(inner, [...path, key])
  }
}

const notJson = (message: string, cause?: unknown): ApiError => validationError('body', [{ path: '', message }], {}, { cause })

const tooLarge = (): ApiError =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body is larger than ${MAX_BODY_BYTES} bytes.`, { limit_bytes: MAX_BODY_BYTES })
