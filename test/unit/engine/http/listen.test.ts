import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { listen } from '../../../../engine/http/listen.ts'

const listening = async (server: Server, port = 0) => {
  onTestFinished(() => void server.close())
  const logged: string[] = []
  const write = (event: string): void => void logged.push(event)
  const log = { debug: write, info: write, warn: write, error: write }
  const refused = await new Promise<Error | undefined>((resolve) =>
    listen(server, { host: '127.0.0.1', port }, { log, onListening: () => resolve(undefined), onRefused: resolve }),
  )
  return { logged, refused, port: (server.address() as AddressInfo | null)?.port ?? 0 }
}

it('the engine goes on when connections cannot be accepted, which is logged once a minute at most', async () => {
  const server = createServer((_request, response) => response.end('here'))
  const { logged, port } = await listening(server)
  // As node:net tells it when file descriptors run out.
  for (let times = 0; times < 3; times += 1) server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('here')
  expect(logged).toEqual(['engine_connection_refused'])
})

it('an address at which the engine cannot listen is told', async () => {
  const { port } = await listening(createServer())
  expect((await listening(createServer(), port)).refused).toMatchObject({ code: 'EADDRINUSE' })
})
