import { createClient } from '@libsql/client/http'
import { drizzle } from 'drizzle-orm/libsql/http'
import { createSlots, type Slots } from '../../lib/slots.ts'
import type { DatabaseConnection } from './connection.ts'

type SendRequest = (request: Request, init: { readonly signal: AbortSignal }) => Promise<Response>

interface ServerOptions {
  /** `libsql://`, `https://` or `http://`. */
  readonly url: string
  readonly authToken?: string
  /** A service binding; the runtime's own fetch by default. */
  readonly fetch?: SendRequest
}

/** Longest wait for an answer of the server, including that for a slot, milliseconds. */
const TIMEOUT_MS = 10_000
/** Longest wait for a slot, which leaves time for the answer, milliseconds. */
const SLOT_WITHIN_MS = 5000
/** Requests in progress, and waiting. */
const BOUNDS = { running: 20, waiting: 1000, refusal: () => new Error('too many requests wait for the server') } as const

/** A libSQL server over HTTP, in any fetch runtime; sends no request yet. */
export const connectToServer = ({ url, authToken, fetch: given }: ServerOptions): DatabaseConnection => {
  const send: SendRequest = given ?? ((request, init) => fetch(request, init))
  const slots = createSlots(BOUNDS)
  const client = createClient({
    url,
    ...(authToken !== undefined && { authToken }),
    // The driver would let requests wait without a limit.
    concurrency: Number.POSITIVE_INFINITY,
    fetch: (request: Request) => sendInTime(request, send, slots),
  })
  return { client, orm: drizzle(client) }
}

/** Fails when the server does not complete its answer in time. */
const sendInTime = async (request: Request, send: SendRequest, slots: Slots): Promise<Response> => {
  // Not AbortSignal.timeout(): in Node.js, one that a Request follows may be garbage collected, and the request never ends.
  const end = new AbortController()
  const asked = performance.now()
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`no answer within ${TIMEOUT_MS / 1000} s`)
    end.abort(error)
    late.reject(error)
  }, TIMEOUT_MS)
  const answer = slots.run(async () => {
    // A statement that was reported as failed must not take effect later.
    if (performance.now() - asked > SLOT_WITHIN_MS) throw new Error('the server was busy for too long')
    const response = await send(request, { signal: end.signal })
    return new Response(await response.arrayBuffer(), response)
  })
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
