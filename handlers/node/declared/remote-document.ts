import { answerWithin } from '../../../lib/answer-within.ts'
import { maskUri } from '../../../lib/credentials/mask.ts'
import { messageOf } from '../../../lib/errors.ts'
import { readAtMost } from '../../../lib/read-at-most.ts'
import { redact } from '../../../lib/redact.ts'
import { withoutCredentials } from '../../../lib/uri/without-credentials.ts'

/** For a document with its redirects, milliseconds. */
const ANSWER_WITHIN_MS = 10_000
/** As many characters as a declaration may have. */
const MAX_BYTES = 16 * 1024 * 1024
const MAX_REDIRECTS = 5

export interface RemoteDocument {
  /** The address without credentials. */
  readonly name: string
  /** The text; undefined when it is the same as before. Throws, without credentials, when it cannot be had. */
  read(stopping: AbortSignal): Promise<string | undefined>
}

/** A document at an http:// or https:// address, asked by its ETag. User name and password are sent to its own origin only. */
export const createRemoteDocument = (address: string, fetch: typeof globalThis.fetch = globalThis.fetch): RemoteDocument => {
  const { href, authorization } = withoutCredentials(address)
  const { origin } = new URL(href)
  let etag: string | null = null
  let last: string | undefined

  const ask = async (url: URL, signal: AbortSignal, redirects = 0): Promise<Response> => {
    const headers = {
      accept: 'application/yaml, application/json;q=0.9, */*;q=0.5',
      ...(authorization !== undefined && { authorization }),
      ...(etag !== null && { 'if-none-match': etag }),
    }
    const response = await fetch(url, { headers, signal, redirect: 'manual' })
    const location = response.headers.get('location')
    if (response.status === 304 || response.status < 300 || response.status >= 400 || location === null) return response
    await response.body?.cancel()
    const next = new URL(location, url)
    if (next.origin !== origin) throw new Error(`it redirects to ${next.origin}, which is another origin; set the address it leads to`)
    if (redirects === MAX_REDIRECTS) throw new Error(`it redirects more than ${MAX_REDIRECTS} times`)
    const { href: there } = withoutCredentials(next.href)
    return ask(new URL(there), signal, redirects + 1)
  }
  const read = async (signal: AbortSignal): Promise<string | undefined> => {
    const response = await ask(new URL(href), signal)
    if (response.status === 304 && etag !== null) return undefined
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Error(`it answers ${response.status}`)
    }
    const text = await readAtMost(response, MAX_BYTES, tooLong)
    etag = response.headers.get('etag')
    if (text === last) return undefined
    last = text
    return text
  }
  return {
    name: maskUri(address),
    read: (stopping) =>
      answerWithin(ANSWER_WITHIN_MS, stopping, read).catch((error: unknown) => {
        throw new Error(problemOf(error))
      }),
  }
}

const tooLong = (): Error => new Error(`it has more than ${MAX_BYTES} bytes`)

/** The reason of a failed fetch is in its cause. */
const problemOf = (error: unknown): string =>
  redact(error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error))
