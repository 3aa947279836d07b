import { refuse, token } from './session.ts'

/** An answer of the API that is an error; `message` says what is wrong and what to do. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, { message, code, details }: { message?: string; code?: string; details?: Record<string, unknown> }) {
    super(message ?? `The service answered ${status}.`)
    this.status = status
    this.code = code ?? ''
    this.details = details ?? {}
  }

  /** Machine-readable cause, such as `not_playing`. */
  get reason(): string | undefined {
    return typeof this.details.reason === 'string' ? this.details.reason : undefined
  }

  /** What is wrong with each field, by its path such as `source.uri`. */
  get issues(): ReadonlyMap<string, string> {
    const list = Array.isArray(this.details.issues) ? (this.details.issues as { path?: string; message?: string }[]) : []
    // Of several for one field the first one counts.
    return new Map(list.map(({ path = '', message = '' }) => [path, message] as const).reverse())
  }
}

interface Options {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** Paths are relative to `/svc/`, so that a prefix of a reverse proxy stays. */
const BASE = new URL('../', document.baseURI)

/** Sends a request. Throws ApiFailure for an answer that is an error, and what `fetch` throws when there is none. */
export const send = async (method: string, path: string, { body, headers, signal }: Options = {}): Promise<Response> => {
  const used = token.peek()
  const response = await fetch(new URL(path, BASE), {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(used !== undefined && { authorization: `Bearer ${used}` }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  })
  if (response.ok) return response
  if (response.status === 401) refuse(used)
  throw new ApiFailure(response.status, await readError(response))
}

const readError = async (response: Response): Promise<{ message?: string; code?: string; details?: Record<string, unknown> }> => {
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  return isJson ? await response.json() : { message: `The service answered ${response.status} ${response.statusText}.` }
}

/** As `send`, for an answer of JSON. */
export const ask = async <T>(method: string, path: string, options?: Options): Promise<T> => (await send(method, path, options)).json()

/** Path of a pipeline, or of something below it. */
export const pathOf = (id: string, rest = ''): string => `pipeline/${encodeURIComponent(id)}${rest}`

/** What to tell people about a failure. */
export const wordsOf = (error: unknown): string => {
  if (error instanceof ApiFailure) return error.message
  if (error instanceof TypeError) return 'The service does not answer. Check that it runs and that this computer reaches it.'
  return error instanceof Error ? error.message : String(error)
}
