import { closeSync, openSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'

const SOCKET_NAME = 'api.sock'
const TAKE_OVER = 'take over\n'
/** A process that hands over may finish its requests first. */
const HANDOVER_PATIENCE_MS = 20_000
const ATTEMPTS = 5

export interface InstanceLock {
  release(): void
}

/**
 * One API process per data directory, by a socket in it: a process that dies frees it, whatever way it dies.
 * With `takeOver` the process that has it is asked to hand over (`onHandover` there) and its end is awaited.
 */
export const takeInstanceLock = async (
  directory: string,
  options: { readonly takeOver: boolean; readonly onHandover: () => void },
): Promise<InstanceLock> => {
  // Through the descriptor the path is short whatever the directory is called: a socket address holds 107 bytes (unix(7)).
  const descriptor = openSync(directory, 'r')
  const path = `/proc/self/fd/${descriptor}/${SOCKET_NAME}`
  const asking = new Set<Socket>()
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const server = await listen(path, options.onHandover, asking)
    if (server !== undefined) {
      server.unref()
      return {
        release: () => {
          server.close(() => closeSync(descriptor))
          for (const socket of asking) socket.destroy()
        },
      }
    }
    const other = await reach(path)
    if (other === undefined) rmSync(path, { force: true })
    else if (options.takeOver) await handOver(other)
    else {
      other.destroy()
      throw new Error(`another service process uses the data directory ${directory}; stop it, or start this one with --takeover`)
    }
  }
  throw new Error(`the data directory ${directory} is still in use by another service process`)
}

const listen = (path: string, onHandover: () => void, asking: Set<Socket>): Promise<Server | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      // They are told by the end of their connection.
      asking.add(socket)
      socket.once('close', () => asking.delete(socket))
      socket.setEncoding('utf8').once('data', (text) => {
        if (String(text) === TAKE_OVER) onHandover()
        else socket.destroy()
      })
    })
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen(path, () => resolve(server))
  })

/** The process behind the socket, undefined when it is dead and only its socket is left. */
const reach = (path: string): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })

/** Asks the other process to leave; the connection ends when it does. */
const handOver = (other: Socket): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      other.destroy()
      reject(new Error('the other service process does not hand over; stop it first'))
    }, HANDOVER_PATIENCE_MS)
    other.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
    other.resume()
    other.write(TAKE_OVER)
  })
