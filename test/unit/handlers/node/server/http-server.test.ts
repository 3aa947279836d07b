import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../../../handlers/node/server/http-server.ts'
import type { Log } from '../../../../../lib/ports.ts'

type App = (request: Request) => Promise<Response>
type Limits = NonNullable<Parameters<typeof createHttpServer>[0]['limits']>

/** A connection to a server with this app, the text that it has received, and the log of the server. */
const open = async (app: App, limits: Limits = {}) => {
  const events: string[] = []
  const write = (event: string): void => void events.push(event)
  const log: Log = { debug: write, info: write, warn: write, error: write }
  const server = createHttpServer({ app, trustProxy: false, log, limits }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  const pieces: string[] = []
  const read = () => socket.on('data', (data) => pieces.push(data.toString()))
  const closed = new Promise((resolve) => socket.on('error', () => {}).once('close', resolve))
  await once(socket, 'connect')
  return { socket, closed, read, received: () => pieces.join(''), events }
}

const reading: App = async (request) => new Response(`read ${await request.text()}`)

const HEAD = 'POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n'
const CHUNK = '1\r\na\r\n'
const END = '0\r\n\r\n'

describe('a connection', () => {
  it('that sends requests without end ahead of their answers is closed', async () => {
    let asked = 0
    const { socket, closed } = await open(() => {
      asked += 1
      return new Promise(() => {})
    })
    socket.resume().write('GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(5000))
    await closed
    expect(asked).toBeLessThanOrEqual(100)
  })

  it('whose body was read, in a few hundred chunks, serves the next request', async () => {
    const { socket, read, received, events } = await open(reading, { pieces: { perSecond: 1, burst: 300 } })
    read()
    socket.write(`${HEAD}${CHUNK.repeat(250)}${END}`)
    await expect.poll(received).toContain(`read ${'a'.repeat(250)}`)
    expect(received()).toMatch(/^connection: keep-alive\r$/im)
    socket.write(`${HEAD}3\r\ndef\r\n${END}`)
    await expect.poll(received).toContain('read def')
    expect(events).toEqual([])
  })

  it('whose body comes in thousands of chunks of a byte is closed, which is logged once', async () => {
    const { socket, closed, read, received, events } = await open(reading, { pieces: { perSecond: 1, burst: 300 } })
    read()
    socket.write(HEAD + CHUNK.repeat(5000))
    await closed
    expect([received(), events.filter((event) => event === 'connection_cut')]).toEqual(['', ['connection_cut']])
  })

  it('that continues its chunks after the answer is closed, after time to read the answer, which says so', async () => {
    const { socket, closed, read, received } = await open(async () => new Response('enough', { status: 401 }), { lingerMs: 10 })
    read()
    socket.write(HEAD)
    await expect.poll(received).toContain('enough')
    expect(received()).toMatch(/^connection: close\r$/im)
    socket.write(CHUNK)
    await closed
  })

  it('that sends the whole of a refused body before it reads gets the answer, and no further request is done', async () => {
    const asked: string[] = []
    const { socket, closed, read, received } = await open(
      async ({ url }) => {
        asked.push(new URL(url).pathname)
        return new Response('too large', { status: 413, headers: { connection: 'close' } })
      },
      { lingerMs: 10_000 },
    )
    const bytes = 16 * 1024 * 1024
    socket.pause()
    socket.write(`POST /first HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${bytes}\r\n\r\n`)
    expect(await new Promise((resolve) => socket.write(Buffer.alloc(bytes), resolve))).toBeFalsy()
    socket.write('GET /second HTTP/1.1\r\nhost: localhost\r\n\r\n')
    read().resume()
    await closed
    expect(received()).toContain('too large')
    expect(asked).toEqual(['/first'])
  })
})
