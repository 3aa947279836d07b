import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createHttpServer } from '../../../../../handlers/node/server/http-server.ts'
import type { Log } from '../../../../../lib/ports.ts'

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

it('a connection that sends requests without end ahead of their answers is closed', async () => {
  let asked = 0
  const app = (): Promise<Response> => {
    asked += 1
    return new Promise(() => {})
  }
  const server = createHttpServer({ app, trustProxy: false, log: silent })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume().write('GET /x HTTP/1.1\r\nhost: localhost\r\n\r\n'.repeat(5000))
  await closed
  expect(asked).toBeLessThanOrEqual(100)
})
