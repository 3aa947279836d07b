import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/**
 * A way to a port of this host that can forget its connections, as a host that was switched off and on: who only reads hears nothing, who
 * sends is reset.
 */
export const startForgetfulNetwork = async (port: number): Promise<{ readonly port: number; readonly forget: () => void }> => {
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => one.destroy())
      one.pipe(other)
    }
    pairs.add([near, far])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of [...pairs].flat()) socket.destroy()
  })
  const forget = (): void => {
    for (const [near, far] of pairs) {
      near.unpipe(far)
      far.unpipe(near)
      near.on('data', () => near.resetAndDestroy())
      for (const socket of [near, far]) socket.resume()
    }
  }
  return { port: (server.address() as AddressInfo).port, forget }
}
