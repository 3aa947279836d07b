import * as v from 'valibot'
import { answerWithin } from '../answer-within.ts'
import { messageOf } from '../errors.ts'
import { readAtMost } from '../read-at-most.ts'
import { withoutCredentials } from '../uri/without-credentials.ts'

/** The path list of a MediaMTX. */
export interface PathListing {
  /** Every path with media, and since when, as the server writes it. */
  readonly available: ReadonlyMap<string, string | null>
  /** It came in several pages; a path may have moved from one to another meanwhile. */
  readonly inParts: boolean
  /** It was not read to its end. */
  readonly isCut: boolean
}

export interface MediaServerApi {
  /** Address for logs, without credentials. */
  readonly address: string
  /** Reads up to 10,000 paths. Throws, without credentials, when the server does not answer in time or as documented. */
  list(signal: AbortSignal): Promise<PathListing>
}

/** For the whole list, milliseconds. */
const ANSWER_WITHIN_MS = 5000
const PATHS_PER_PAGE = 1000
/** Ten times as many paths as there can be triggered pipelines. */
const MAX_PAGES = 10
const MAX_PAGE_BYTES = 16 * 1024 * 1024

const flag = v.nullish(v.boolean())
const time = v.nullish(v.string())

const itemSchema = v.object({ name: v.string(), available: flag, online: flag, ready: flag, availableTime: time, readyTime: time })

/** GET /v3/paths/list of MediaMTX 1.x. Since 1.17 there are `available` and `online`; `ready` is deprecated. */
const pageSchema = v.object({
  pageCount: v.optional(v.number(), 1),
  // Required: an answer without it is not an empty list. Each path becomes work, so no more than requested.
  // Without a list nothing is known: null would remove every pipeline.
  items: v.pipe(v.array(v.unknown()), v.maxLength(PATHS_PER_PAGE), v.array(itemSchema)),
})

type Item = v.InferOutput<typeof pageSchema>['items'][number]

/** Readable, and from its own source: a path that is always available has substitute media while its source is away. */
const isAvailable = ({ available, online, ready }: Item): boolean => (available ?? ready ?? online) === true && online !== false

/** The API at `url`; its user name and password are sent as Basic authentication and never shown. */
export const createMediaServerApi = (url: string, fetch: typeof globalThis.fetch = globalThis.fetch): MediaServerApi => {
  const { href, authorization } = withoutCredentials(url)
  const base = new URL(href)
  base.search = ''
  base.hash = ''
  const address = base.href.replace(/(?<!\/)\/+$/, '')
  const headers = {
    accept: 'application/json',
    ...(authorization !== undefined && { authorization }),
  }

  const readPage = async (page: number, signal: AbortSignal) => {
    // A redirect could take the credentials elsewhere.
    const response = await fetch(`${address}/v3/paths/list?itemsPerPage=${PATHS_PER_PAGE}&page=${page}`, {
      headers,
      signal,
      redirect: 'error',
    })
    const text = await readAtMost(response, MAX_PAGE_BYTES, tooLong)
    if (!response.ok) throw new Error(REFUSALS[response.status] ?? `The API of the media server answers ${response.status}.`)
    return v.parse(pageSchema, JSON.parse(text))
  }

  const readAll = async (signal: AbortSignal): Promise<PathListing> => {
    const available = new Map<string, string | null>()
    let pages = 1
    for (let page = 0; page < Math.min(pages, MAX_PAGES); page++) {
      const { pageCount, items } = await readPage(page, signal)
      pages = pageCount
      for (const item of items) if (isAvailable(item)) available.set(item.name, item.availableTime ?? item.readyTime ?? null)
    }
    return { available, inParts: pages > 1, isCut: pages > MAX_PAGES }
  }

  return {
    address,
    list: (signal) =>
      answerWithin(ANSWER_WITHIN_MS, signal, readAll).catch((error: unknown) => {
        throw new Error(problemOf(error))
      }),
  }
}

const tooLong = (): Error => new Error(`The answer of the media server is larger than ${MAX_PAGE_BYTES} bytes.`)

const REFUSALS: Readonly<Record<number, string>> = {
  401: 'The API of the media server rejects the credentials. Set them in SVC_MEDIA_SERVER_API, as in http://user:password@host:9997.',
  403: 'The API of the media server rejects this host. Permit the action api for it (authInternalUsers of mediamtx.yml).',
  404: 'There is no path list of MediaMTX at this address. Use the address of its API, and MediaMTX 1.0 or later.',
}

/** The reason of a failed fetch is in its cause. */
const problemOf = (error: unknown): string => {
  if (v.isValiError(error) || error instanceof SyntaxError) return 'The answer of the media server is not a path list of MediaMTX.'
  return error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)
}
