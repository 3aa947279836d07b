import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { drain, trackConnections } from '../../../../../handlers/node/server/drain.ts'

const start = async (): Promise<{ server: Server; open: () => Promise<Socket>; answer: () => void; asked: Promise<void> }> => {
  const asked = Promise.withResolvers<void>()
  let answer = (): void => {}
  const server = createServer((_request, response) => {
    answer = () => response.end('done')
    asked.resolve()
  })
  trackConnections(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  return {
    server,
    asked: asked.promise,
    answer: () => answer(),
    open: () =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => resolve(socket))
        socket.on('error', () => {})
      }),
  }
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())))

it('closes connections without a request at once, and lets requests finish', async () => {
  const { server, open, answer, asked } = await start()
  const silent = await open()
  const busy = await open()
  let text = ''
  busy.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  busy.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await asked
  const drained = drain(server, 5000)
  silent.resume()
  await closed(silent)
  expect(busy.destroyed).toBe(false)
  answer()
  await drained
  await closed(busy)
  expect(text).toContain('done')
})
