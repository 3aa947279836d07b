import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { parseAddress } from '../../../../engine/faults/address.ts'
import { probeHttp } from '../../../../engine/sources/http-probe.ts'

it.each([
  ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ['answers nothing', ''],
  ['answers in another protocol', 'ICY\r\n\r\n'],
])('the probe of a server that %s ends with a fault', async (_what, answer) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => (answer === '' ? socket.end() : socket.write(answer)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = parseAddress(`http://127.0.0.1:${(server.address() as AddressInfo).port}/live.ts`)
  await expect(probeHttp(address, { signal: new AbortController().signal, timeoutMs: 20_000 })).rejects.toMatchObject({
    reason: expect.stringMatching(/^(?:source_error|unreachable)$/),
  })
})
