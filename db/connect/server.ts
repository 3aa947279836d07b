import { createClient } from '@libsql/client/http'
import { drizzle } from 'drizzle-orm/libsql/http'
import type { DatabaseConnection } from './connection.ts'

export interface ServerOptions {
  /** `libsql://`, `https://` or `http://`. */
  readonly url: string
  readonly authToken?: string
  /** How the server is reached, when not by the runtime's own fetch: a service binding. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** Longest wait for an answer of the server, milliseconds. */
const ANSWER_MS = 10_000

/** A libSQL server over HTTP, in any fetch runtime; nothing is asked yet. */
export const connectToServer = ({ url, authToken, fetch: given }: ServerOptions): DatabaseConnection => {
  const send = given ?? ((request: Request) => fetch(request))
  const client = createClient({
    url,
    ...(authToken !== undefined && { authToken }),
    // A server that takes the connection and says nothing must not hold a request for ever.
    fetch: (request: Request) => send(new Request(request, { signal: AbortSignal.timeout(ANSWER_MS) })),
  })
  return { client, orm: drizzle(client) }
}
