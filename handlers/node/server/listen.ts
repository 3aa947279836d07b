import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

/** How long a program at the port may take to answer, milliseconds. */
const ASK_MS = 2000

interface ListenOptions {
  readonly host: string
  /** 0 takes a free port. */
  readonly port: number
  /** What fails when the port is taken, such as `listen`. */
  readonly purpose: string
  /** The variable that sets the port. */
  readonly variable: string
}

/** Listens at a host and port. Rejects with a message for the operator. */
export const listen = (server: Server, { host, port, purpose, variable }: ListenOptions): Promise<void> =>
  new Promise((resolve, reject) => {
    // For good: accept(2) fails when file descriptors run out, and the next one may succeed.
    server.on('error', (error: NodeJS.ErrnoException) => {
      const reason = reasonOf(error, variable)
      reject(new Error(`cannot ${purpose} at ${host}:${port}: ${reason}`, { cause: error }))
    })
    server.listen({ host, port }, resolve)
  })

/** Rejects as `listen` would, unless the port is used by the process that hands over. */
export const checkListen = async (options: ListenOptions): Promise<void> => {
  const server = createServer()
  try {
    await listen(server, options)
  } catch (error) {
    if (!isPortUsed(error) || (await isOtherProgram(options))) throw error
  } finally {
    server.close()
  }
}

const isPortUsed = (error: unknown): boolean =>
  error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE'

/** Without an answer it may be this service, too busy or at another address. */
const isOtherProgram = async ({ host, port }: ListenOptions): Promise<boolean> => {
  const own = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  try {
    const answer = await fetch(`http://${own.includes(':') ? `[${own}]` : own}:${port}/svc/version`, {
      signal: AbortSignal.timeout(ASK_MS),
    })
    return !(await answer.text()).includes('"api_version"')
  } catch {
    return false
  }
}

/** What is wrong, and which variable to set. */
const reasonOf = ({ code, message }: NodeJS.ErrnoException, port: string): string => {
  if (code === 'EADDRINUSE') return `another program uses this port; set ${port}`
  if (code === 'EACCES') return `permission denied for a port below 1024; set ${port}, or allow it (CAP_NET_BIND_SERVICE)`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return 'this is not an address of this host; set SVC_HOST, or wait until its network is up'
  return `${message}; set SVC_HOST and ${port}`
}

/** The port on which a server listens. */
export const portOf = (server: Server): number => (server.address() as AddressInfo).port

/** The address at which a server listens. */
export const urlOf = (server: Server): string => {
  const { address, port, family } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

type Interfaces = NodeJS.Dict<readonly Pick<NetworkInterfaceInfo, 'address' | 'family' | 'internal'>[]>

/** The same address for people: one that listens everywhere is named by an address of this host that others reach. */
export const reachableUrl = (url: string, interfaces: Interfaces = networkInterfaces()): string => {
  const outside = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)
  return url.replace(/(?<=^http:\/\/)(?:0\.0\.0\.0|\[::\])(?=:)/, outside?.address ?? '127.0.0.1')
}

/** Whether other hosts reach a server: it listens at more than loopback. */
export const isExposed = (server: Server): boolean => {
  const { address } = server.address() as AddressInfo
  return !/^(?:::ffff:)?127\.|^::1$/.test(address)
}
