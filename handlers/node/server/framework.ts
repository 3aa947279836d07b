import type { IncomingMessage } from 'node:http'

/** What Express and similar frameworks add to a request. */
interface FrameworkRequest extends IncomingMessage {
  /** The whole target, where `url` is what follows the path of a mount. */
  originalUrl?: string | undefined
  /** The body as a parser left it. */
  body?: unknown
}

/**
 * Calls the adapter with the target below the path of a mount, and with the body as bytes, also where a parser has read it. Restores
 * the values of the framework.
 */
export const withOwnView = <T>(request: FrameworkRequest, adapt: () => T): T => {
  const { originalUrl, body } = request
  if (originalUrl === undefined && body === undefined) return adapt()
  const bytes = isBodyRead(request) ? bytesOf(request) : undefined
  try {
    request.originalUrl = undefined
    request.body = bytes
    return adapt()
  } finally {
    request.originalUrl = originalUrl
    request.body = body
  }
}

/** Whether a parser has read the body, and its bytes cannot be restored. */
export const isBodyLost = (request: FrameworkRequest): boolean => isBodyRead(request) && bytesOf(request) === undefined

const isBodyRead = ({ readableEnded, headers }: FrameworkRequest): boolean =>
  readableEnded && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

const bytesOf = ({ body, headers }: FrameworkRequest): Uint8Array | undefined => {
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') return Buffer.from(body)
  return body !== undefined && headers['content-type']?.includes('json') === true ? Buffer.from(JSON.stringify(body)) : undefined
}

/** Begins a Location within the service (that of a redirect, of a created pipeline) with the path of the mount, where there is one. */
export const withMount = ({ originalUrl, url }: FrameworkRequest, answer: Response): Response => {
  const location = answer.headers.get('location')
  const mount = originalUrl === undefined ? '' : mountOf(pathOf(originalUrl), pathOf(url ?? ''))
  if (mount !== '' && location?.startsWith('/')) answer.headers.set('location', `${mount}${location}`)
  return answer
}

const pathOf = (target: string): string => target.split('?', 1)[0] ?? ''

/** A request for the mount itself, without a slash at its end, is for `/`. */
const mountOf = (whole: string, rest: string): string => {
  if (whole.endsWith(rest)) return whole.slice(0, -rest.length)
  return rest === '/' ? whole : ''
}
