import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RtspRewriter {
  readonly port: number
  close(): Promise<void>
}

/** Stands before an RTSP server (over TCP) and puts one text for another of the same length into what it answers. */
export const startRtspRewriter = async (serverPort: number, from: string, to: string): Promise<RtspRewriter> => {
  if (from.length !== to.length) throw new RangeError('Content-Length would be wrong')
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      const at = chunk.indexOf(from)
      if (at >= 0) chunk.write(to, at, 'latin1')
      client.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
