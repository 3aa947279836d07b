import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { drain, trackConnections } from '../../../../../handlers/node/server/drain.ts'

it('closes connections without a request at once, and lets requests finish', async () => {
  const server = createServer()
  trackConnections(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => server.closeAllConnections())
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  const [silent, busy] = [await open(), await open()]
  const asked = once(server, 'request')
  busy.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [, response] = await asked
  const drained = drain(server, 5000)
  silent.resume()
  await once(silent, 'close')
  expect(busy.destroyed).toBe(false)
  response.end('done')
  await drained
  expect(await text(busy)).toContain('done')
})
