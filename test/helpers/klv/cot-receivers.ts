import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type ParsedCot, parseCot, splitCot } from '../../fixtures/klv/cot.ts'

/** Collects the events that come as datagrams. */
export const receiveCotByUdp = async (type: 'udp4' | 'udp6', host: string, port = 0) => {
  const socket = createSocket({ type, reuseAddr: true })
  const received: ParsedCot[] = []
  socket.on('message', (message) => received.push(parseCot(message.toString('utf8'))))
  socket.bind(port, host)
  await once(socket, 'listening')
  let stopped = false
  const stop = (): void => {
    if (!stopped) socket.close()
    stopped = true
  }
  return {
    port: socket.address().port,
    events: (): readonly ParsedCot[] => received,
    join: (group: string) => socket.addMembership(group),
    stop,
  }
}

/** Collects the events of all connections. */
export const receiveCotByTcp = async (port = 0) => {
  let text = ''
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('error', () => {})
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  return { port: (server.address() as AddressInfo).port, events: (): readonly ParsedCot[] => splitCot(text).events, sockets, stop }
}
