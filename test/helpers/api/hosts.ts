import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Database } from '../../../db/open.ts'
import type { Router } from '../../../handlers/http/router.ts'
import { createHttpServer } from '../../../handlers/node/server/http-server.ts'
import type { Log } from '../../../lib/ports.ts'
import type { EngineParts } from '../fakes/engine-server.ts'
import { fetchAsHost } from './fetch-as-host.ts'
import { sharedWorker } from './worker-host.ts'

/** A runtime for the API's fetch handler; the test rows hold on each. */
export interface TestHost {
  readonly name: string
  serve(api: Router, log: Log, parts: EngineParts): Promise<ServedApp>
  /** An empty database of the host; without it the API uses a file. */
  readonly openDatabase?: () => Promise<Database>
}

export interface ServedApp {
  readonly origin: string
  readonly fetch: (request: Request) => Promise<Response>
  close(): Promise<void>
}

export const API_KEY = 'the-api-key-of-the-tests'

export const CLIENT_ADDRESS = '192.0.2.1'

/** The handler itself, in this process. */
export const fetchHost: TestHost = {
  name: 'fetch',
  serve: async ({ fetch: app }) => ({
    origin: 'http://api.test',
    fetch: (request) => app(request, { clientAddress: CLIENT_ADDRESS }),
    close: async () => undefined,
  }),
}

/** The HTTP server of the Node host, over a socket. */
export const nodeHost: TestHost = {
  name: 'node:http',
  serve: async ({ fetch: app, read }, log) => {
    const server = createHttpServer({ app, read, trustProxy: false, log }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return {
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      fetch: fetchAsHost,
      close: async () => {
        server.close()
        server.closeAllConnections()
        await once(server, 'close')
      },
    }
  },
}

let clients = 0

/** The bundled worker in workerd, with the same fakes behind its engine binding. */
export const workerHost: TestHost = {
  name: 'workerd',
  openDatabase: async () => (await sharedWorker(WORKER_VARIABLES)).database,
  serve: async (_api, _log, parts) => {
    const { miniflare, use } = await sharedWorker(WORKER_VARIABLES)
    use(parts)
    const { origin } = await miniflare.ready
    // The worker's rate limits outlive a test, so each test is another client.
    const client = `192.0.2.${(clients++ % 250) + 1}`
    return {
      origin,
      fetch: (request) => {
        request.headers.set('x-forwarded-for', client)
        // workerd closes a connection that was idle for 5 s, perhaps just when the next test sends.
        request.headers.set('connection', 'close')
        return fetchAsHost(request)
      },
      close: async () => undefined,
    }
  },
}

export const WORKER_VARIABLES = { SVC_API_KEY: API_KEY, SVC_TRUST_PROXY: '1', SVC_LOG_LEVEL: 'error' }
