import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../../../handlers/node/server/http-server.ts'
import type { Log } from '../../../../../lib/ports.ts'

const nothing = (): void => {}
const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }

const start = async (app: (request: Request) => Promise<Response>): Promise<Socket> => {
  const server = createHttpServer({ app, trustProxy: false, log, limits: { lingerMs: 10_000 } })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  await once(socket, 'connect')
  return socket
}

const received = (socket: Socket): (() => string) => {
  let text = ''
  socket.on('data', (data) => {
    text += data.toString()
  })
  return () => text
}

const CHUNKED = 'POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n'

it('an answer before the end of a chunked body says that the connection ends', async () => {
  const socket = await start(async () => new Response('enough', { status: 404 }))
  const text = received(socket)
  socket.write(CHUNKED)
  await expect.poll(text).toContain('enough')
  expect(text()).toMatch(/^connection: close\r$/im)
})

it('a connection whose chunked body was read serves the next request', async () => {
  const socket = await start(async (request) => new Response(`read ${await request.text()}`))
  const text = received(socket)
  socket.write(`${CHUNKED}0\r\n\r\n`)
  await expect.poll(text).toContain('read abc')
  expect(text()).toMatch(/^connection: keep-alive\r$/im)
  socket.write(`${CHUNKED.replace('abc', 'def')}0\r\n\r\n`)
  await expect.poll(text).toContain('read def')
})

it('a client that sends the whole of a refused body before it reads gets the answer, and no further request is done', async () => {
  const asked: string[] = []
  const socket = await start(async ({ url }) => {
    asked.push(new URL(url).pathname)
    return new Response('too large', { status: 413, headers: { connection: 'close' } })
  })
  const bytes = 16 * 1024 * 1024
  socket.pause()
  socket.write(`POST /first HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${bytes}\r\n\r\n`)
  const sent = new Promise<Error | null | undefined>((resolve) => socket.write(Buffer.alloc(bytes), resolve))
  socket.on('error', nothing)
  expect(await sent).toBeFalsy()
  socket.write('GET /second HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const text = received(socket)
  socket.resume()
  await once(socket, 'close')
  expect(text()).toContain('too large')
  expect(asked).toEqual(['/first'])
})
