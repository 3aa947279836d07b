import { createServer, isIPv6, type Server, type Socket } from 'node:net'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** One spelling per address: IPv6 has many. */
export const canonicalHost = (host: string): string => (isIPv6(host) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host)

/** Whether a connection to a local address is meant for a mount at `host`: 0.0.0.0 is all of IPv4, :: everything. */
export const covers = (host: string, localAddress: string): boolean =>
  host === '::' || (host === '0.0.0.0' ? !isIPv6(localAddress) : host === canonicalHost(localAddress.split('%')[0] ?? ''))

/** The sockets that the hosts claimed on one port need: a wildcard stands for what it covers, as the kernel allows only one of both. */
const socketsFor = (hosts: readonly string[]): readonly string[] => {
  const unique = [...new Set(hosts)]
  return unique.filter((host) => !unique.some((other) => other !== host && (other === '::' || (other === '0.0.0.0' && !isIPv6(host)))))
}

/** The listening sockets of a publisher. Several mounts may claim one port; the last one to go frees it. */
export class Listeners {
  readonly #onSocket: (socket: Socket) => void
  readonly #claims = new Map<number, string[]>()
  readonly #servers = new Map<number, Map<string, Server>>()
  /** Changes of one port follow each other. */
  readonly #turns = new Map<number, Promise<unknown>>()

  constructor(onSocket: (socket: Socket) => void) {
    this.#onSocket = onSocket
  }

  get addresses(): readonly ListenAddress[] {
    return [...this.#servers].flatMap(([port, servers]) => [...servers.keys()].map((host) => ({ host, port })))
  }

  /** Rejects with the error of listen(2); nothing has changed then. */
  claim({ host, port }: ListenAddress): Promise<void> {
    return this.#inTurn(port, async () => {
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

  /** Resolves when the socket is closed, if no other claim needs it. `last` runs first when the port has no claim left. */
  release({ host, port }: ListenAddress, last: () => void): Promise<void> {
    return this.#inTurn(port, async () => {
      const claims = this.#claims.get(port) ?? []
      const at = claims.indexOf(host)
      if (at !== -1) claims.splice(at, 1)
      if (claims.length === 0) last()
      await this.#reconcile(port).catch(() => {})
    })
  }

  async #inTurn(port: number, change: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(port) ?? Promise.resolve()).then(change, change)
    this.#turns.set(port, turn)
    try {
      await turn
    } finally {
      if (this.#turns.get(port) === turn) this.#turns.delete(port)
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
        // accept(2) fails when descriptors run out; the next one may succeed.
        server.on('error', () => {})
        resolve(server)
      })
    })
  }
}

/** Closes the listening socket; connections that were accepted live on, so its close event is not waited for. */
const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close()
    // The descriptor is closed with the handle, before the next turn of the loop.
    setImmediate(resolve)
  })
