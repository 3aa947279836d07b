import { toApiError, unexpectedAnswer } from './api-error.ts'

export interface ClientOptions {
  /** Address of the service, with the path before /svc, if any; empty for the origin of the page. */
  readonly url: string | URL
  /** For automation and triggers. Do not use it in pages, whose readers could see it. */
  readonly apiKey?: string | undefined
  /** The token of a login; a function is called for each request. */
  readonly token?: string | (() => string | undefined) | undefined
  /** Additional header fields, such as those of a proxy. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Replaces `fetch`, for example by a service in the same process. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

/** The arguments of an operation. */
export type CallArguments = Readonly<Record<string, unknown>> & { readonly signal?: AbortSignal | undefined }

/** Sends the request of an operation. Throws ApiError for an error. */
export const send = async (options: ClientOptions, line: string, given: CallArguments): Promise<Response> => {
  const [method = '', path = '', ...others] = line.split(' ')
  const mediaType = others.find((other) => other.includes('/'))
  const { signal, body, ifMatch, ifNoneMatch, lastEventId, ...rest } = given
  const fields = new Map(Object.entries(rest).filter(([, value]) => value !== undefined))
  const url = `${String(options.url).replace(/(?<!\/)\/+$/, '')}${fillPath(path, fields)}${toQuery(fields)}`
  const conditions = { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'last-event-id': lastEventId }
  const response = await (options.fetch ?? fetch)(url, {
    method,
    headers: headersOf(options, { ...conditions, 'content-type': body === undefined ? undefined : (mediaType ?? 'application/json') }),
    ...(body !== undefined && { body: mediaType === undefined ? JSON.stringify(body) : String(body) }),
    ...(signal !== undefined && { signal }),
    // A cached answer would be outdated.
    cache: 'no-store',
    // A redirect would take the API key to another server.
    redirect: 'manual',
  })
  const location = response.headers.get('location')
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400 && location !== null))
    throw unexpectedAnswer(response, `The service redirects to ${location ?? 'another address'}, and redirects are not followed`)
  if (response.ok || others.includes(String(response.status))) return response
  throw toApiError(response, await jsonOf(response))
}

/** Fills the parameters of the path, and removes them from `fields`. */
const fillPath = (path: string, fields: Map<string, unknown>): string =>
  path.replace(/:(\w+)/g, (_, name: string) => {
    const value = fields.get(name)
    fields.delete(name)
    // An empty or dot segment would change the path.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`Pass ${name} as a string that is not empty`)
    return encodeURIComponent(value)
  })

const toQuery = (fields: ReadonlyMap<string, unknown>): string => {
  const query = new URLSearchParams([...fields].map(([name, value]) => [name, String(value)]))
  return query.size === 0 ? '' : `?${query}`
}

const headersOf = ({ apiKey, token, headers }: ClientOptions, own: Readonly<Record<string, unknown>>): Headers => {
  const all = new Headers(headers)
  const bearer = typeof token === 'function' ? token() : token
  if (apiKey !== undefined) all.set('x-api-key', apiKey)
  if (bearer !== undefined) all.set('authorization', `Bearer ${bearer}`)
  for (const [name, value] of Object.entries(own)) if (value !== undefined) all.set(name, String(value))
  return all
}

/** The content of an answer: JSON as a value, text as a string, none as undefined, anything else as the Response. */
export const contentOf = async (response: Response): Promise<unknown> => {
  const type = response.headers.get('content-type') ?? ''
  if (response.status === 204 || (response.status === 200 && type === '')) return undefined
  if (/[/+]json\b/.test(type)) return remember(response, await response.json())
  if (/^text\/html\b/.test(type)) throw unexpectedAnswer(response, `${response.url || 'The service'} answered a web page`)
  return /^text\/|^application\/xml\b/.test(type) ? response.text() : response
}

const jsonOf = async (response: Response): Promise<unknown> => {
  try {
    return await response.json()
  } catch {
    // Not JSON, so not an error of this API.
    return undefined
  }
}

const etags = new WeakMap<object, string>()

const remember = (response: Response, value: unknown): unknown => {
  const etag = response.headers.get('etag')
  if (etag !== null && typeof value === 'object' && value !== null) etags.set(value, etag)
  return value
}

/** The ETag of pipelines or settings from this client, for `ifMatch`. A copy has none. */
export const etagOf = (answer: object): string | undefined => etags.get(answer)
