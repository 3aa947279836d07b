import { createServer, isIPv6, type Server, type Socket } from 'node:net'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** The canonical spelling of an address; IPv6 has many. */
export const canonicalHost = (host: string): string => (isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host)

/** Whether a connection to a local address reaches a mount at `host`: 0.0.0.0 covers all of IPv4, :: all addresses. */
export const covers = (host: string, localAddress: string): boolean =>
  host === '::' || (host === '0.0.0.0' ? !isIPv6(localAddress) : host === canonicalHost(localAddress.split('%')[0] ?? ''))

/** The sockets needed for the hosts claimed on one port: a wildcard replaces the hosts that it covers, since the kernel does not allow both. */
const socketsFor = (hosts: readonly string[]): readonly string[] => {
  const unique = [...new Set(hosts)]
  return unique.filter((host) => !unique.some((other) => other !== host && (other === '::' || (other === '0.0.0.0' && !isIPv6(host)))))
}

/** The listening sockets of a publisher. Several mounts may claim one port; the last release frees it. */
export class ListeningPorts {
  readonly #onSocket: (socket: Socket) => void
  readonly #claims = new Map<number, string[]>()
  readonly #servers = new Map<number, Map<string, Server>>()
  /** The last change per port: changes of one port run one after the other. */
  readonly #changes = new Map<number, Promise<unknown>>()

  constructor(onSocket: (socket: Socket) => void) {
    this.#onSocket = onSocket
  }

  get addresses(): readonly ListenAddress[] {
    return [...this.#servers].flatMap(([port, servers]) => [...servers.keys()].map((host) => ({ host, port })))
  }

  /** Opens the sockets that the address needs. Rejects with the error of listen(2), and then changes nothing. */
  claim({ host, port }: ListenAddress): Promise<void> {
    return this.#enqueue(port, async () => {
      const before = this.#claims.get(port) ?? []
      this.#claims.set(port, [...before, host])
      try {
        await this.#reconcile(port)
      } catch (error) {
        this.#claims.set(port, before)
        await this.#reconcile(port).catch(() => {})
        throw error
      }
    })
  }

  /** Resolves when the socket is closed, unless another claim needs it. `last` runs before that when the port has no claim left. */
  release({ host, port }: ListenAddress, last: () => void): Promise<void> {
    return this.#enqueue(port, async () => {
      const claims = this.#claims.get(port) ?? []
      const at = claims.indexOf(host)
      if (at !== -1) claims.splice(at, 1)
      if (claims.length === 0) last()
      await this.#reconcile(port).catch(() => {})
    })
  }

  async #enqueue(port: number, change: () => Promise<void>): Promise<void> {
    const current = (this.#changes.get(port) ?? Promise.resolve()).then(change, change)
    this.#changes.set(port, current)
    try {
      await current
    } finally {
      if (this.#changes.get(port) === current) this.#changes.delete(port)
    }
  }

  async #reconcile(port: number): Promise<void> {
    const servers = this.#servers.get(port) ?? new Map<string, Server>()
    this.#servers.set(port, servers)
    const wanted = socketsFor(this.#claims.get(port) ?? [])
    for (const [host, server] of servers) {
      if (wanted.includes(host)) continue
      servers.delete(host)
      await stopListening(server)
    }
    for (const host of wanted) if (!servers.has(host)) servers.set(host, await this.#listen(host, port))
    if (servers.size > 0) return
    this.#servers.delete(port)
    this.#claims.delete(port)
  }

  #listen(host: string, port: number): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 }, this.#onSocket)
      server.once('error', reject)
      server.listen({ host, port, exclusive: true, backlog: 1024 }, () => {
        server.off('error', reject)
        // accept(2) fails when file descriptors run out; a later one may succeed.
        server.on('error', () => {})
        resolve(server)
      })
    })
  }
}

/** Closes the listening socket. Accepted connections stay open, so this does not wait for the close event. */
const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close()
    // The descriptor is closed with the handle, before the next turn of the event loop.
    setImmediate(resolve)
  })
