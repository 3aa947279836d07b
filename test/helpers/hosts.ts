import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FetchHandler } from '../../handlers/app.ts'
import { createHttpServer } from '../../handlers/node/http-server.ts'
import type { Log } from '../../lib/ports.ts'

/** Something that runs the API's fetch handler; the same rows are true of every one. */
export interface TestHost {
  readonly name: string
  serve(app: FetchHandler, log: Log): Promise<ServedApp>
}

export interface ServedApp {
  readonly origin: string
  readonly fetch: (request: Request) => Promise<Response>
  close(): Promise<void>
}

export const CLIENT_ADDRESS = '192.0.2.1'

/** The handler itself, in this process. */
export const fetchHost: TestHost = {
  name: 'fetch',
  serve: async (app) => ({
    origin: 'http://api.test',
    fetch: (request) => app(request, { clientAddress: CLIENT_ADDRESS }),
    close: async () => undefined,
  }),
}

/** The HTTP server of the Node host, over a socket. */
export const nodeHost: TestHost = {
  name: 'node:http',
  serve: async (app, log) => {
    const server = createHttpServer({ app, trustProxy: false, log }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return {
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      fetch: (request) => fetch(request),
      close: async () => {
        server.close()
        server.closeAllConnections()
        await once(server, 'close')
      },
    }
  },
}
