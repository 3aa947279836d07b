import { createClient } from '@libsql/client/http'
import { drizzle } from 'drizzle-orm/libsql/http'
import type { DatabaseConnection } from './connection.ts'

interface ServerOptions {
  /** `libsql://`, `https://` or `http://`. */
  readonly url: string
  readonly authToken?: string
  /** A service binding; the runtime's own fetch by default. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** Longest wait for an answer of the server, milliseconds. */
const TIMEOUT_MS = 10_000

/** A libSQL server over HTTP, in any fetch runtime; sends no request yet. */
export const connectToServer = ({ url, authToken, fetch: given }: ServerOptions): DatabaseConnection => {
  const send = given ?? ((request: Request) => fetch(request))
  const client = createClient({
    url,
    ...(authToken !== undefined && { authToken }),
    // A server may accept the connection and never answer.
    fetch: (request: Request) => send(new Request(request, { signal: AbortSignal.timeout(TIMEOUT_MS) })),
  })
  return { client, orm: drizzle(client) }
}
