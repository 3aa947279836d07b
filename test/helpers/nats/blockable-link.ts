import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP port in front of another, whose network can be cut: nothing arrives then, and nobody is told. */
export interface BlockableLink {
  readonly port: number
  /** Bytes that have passed, both ways. */
  bytes(): number
  block(): void
  /** What was lost stays lost: TCP connections of before are reset. */
  heal(): void
  close(): void
}

export const startBlockableLink = async (target: number): Promise<BlockableLink> => {
  const sockets = new Set<Socket>()
  let bytes = 0
  let isBlocked = false
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.on('data', (chunk) => {
      if (isBlocked) return
      bytes += chunk.length
      to.write(chunk)
    })
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      if (!isBlocked) to.destroy()
    })
  }
  const server = createServer((client) => {
    if (isBlocked) {
      // Accepted by the kernel, but no byte passes.
      sockets.add(client)
      client.on('error', () => {}).on('close', () => sockets.delete(client))
      return
    }
    const upstream = connect(target, '127.0.0.1')
    pass(client, upstream)
    pass(upstream, client)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => bytes,
    block: () => {
      isBlocked = true
    },
    heal: () => {
      isBlocked = false
      for (const socket of [...sockets]) socket.resetAndDestroy()
    },
    close: () => {
      server.close()
      for (const socket of [...sockets]) socket.destroy()
    },
  }
}
