import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../../../handlers/node/server/http-server.ts'
import type { Log } from '../../../../../lib/ports.ts'

const CHUNK = '1\r\na\r\n'

/** A server whose app reads bodies, or answers without. */
const start = async (app: (request: Request) => Promise<Response>) => {
  const events: string[] = []
  const write = (event: string): void => void events.push(event)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const server = createHttpServer({ app, trustProxy: false, log, limits: { pieces: { perSecond: 1, burst: 300 }, lingerMs: 10 } })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const open = async (): Promise<{ readonly socket: Socket; readonly received: () => string }> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket
      .on('error', () => {})
      .on('data', (data) => {
        text += data.toString()
      })
    await once(socket, 'connect')
    socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n')
    return { socket, received: () => text }
  }
  return { open, events }
}

const reading = async (request: Request): Promise<Response> => new Response(`read ${(await request.text()).length}`)

it('a body in a few hundred chunks is read', async () => {
  const { open, events } = await start(reading)
  const { socket, received } = await open()
  socket.write(`${CHUNK.repeat(250)}0\r\n\r\n`)
  await expect.poll(received).toContain('read 250')
  expect(events).toEqual([])
})

it('a connection whose body comes in thousands of chunks of a byte is closed, which is logged once', async () => {
  const { open, events } = await start(reading)
  const { socket, received } = await open()
  socket.write(CHUNK.repeat(5000))
  await once(socket, 'close')
  expect([received(), events.filter((event) => event === 'connection_cut')]).toEqual(['', ['connection_cut']])
})

it('a connection that goes on with its chunks after the answer is closed, and had the time to read that', async () => {
  const { open } = await start(async () => new Response('enough', { status: 401 }))
  const { socket, received } = await open()
  const closed = once(socket, 'close')
  await expect.poll(received).toContain('401 Unauthorized')
  socket.write(CHUNK)
  await closed
  expect(received()).toContain('enough')
})
