import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, fstatSync, openSync, realpathSync, rmSync, statSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { directoryError, inDirectory } from './data-directory.ts'

const SOCKET_NAME = 'api.sock'
const TAKE_OVER = 'take over\n'
/** The other process may finish its requests before it hands over. */
const HANDOVER_PATIENCE_MS = 20_000
/** A process that has the lock but no socket is about to open the socket, or to end. */
const ATTEMPTS = 20
const ATTEMPT_EVERY_MS = 50

interface InstanceLock {
  release(): void
}

/**
 * Ensures one API process per data directory with flock(2) on the directory, which the kernel releases when the process ends.
 * With `takeOver`, asks the other process through a socket in the directory to hand over (its `onHandover`) and waits for its end.
 */
export const takeInstanceLock = async (
  directory: string,
  options: { readonly takeOver: boolean; readonly onHandover: () => void },
): Promise<InstanceLock> => {
  // The path through the descriptor is short: a socket address has at most 107 bytes (unix(7)).
  const descriptor = inDirectory(directory, () => openSync(directory, 'r'))
  const path = `/proc/self/fd/${descriptor}/${SOCKET_NAME}`
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if (lock(descriptor)) return await holdLock(descriptor, path, options.onHandover)
      const other = await reach(path)
      if (other === undefined) await sleep(ATTEMPT_EVERY_MS)
      else if (options.takeOver) await handOver(other)
      else {
        other.destroy()
        throw new Error(`another service process uses the data directory ${directory}; stop it or start this one with --takeover`)
      }
    }
    throw new Error(`another service process still uses the data directory ${directory}; stop it and try again`)
  } catch (error) {
    closeSync(descriptor)
    throw directoryError(directory, error)
  }
}

/** Ensures one API process per database file, also with another data directory: a lock as that of the directory, on a file beside it. */
export const takeDatabaseLock = (url: string): { readonly release: () => void } => {
  const file = url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length).replace(/[?#].*/, '')
  const folder = dirname(file)
  if (!existsSync(folder)) throw new Error(`${file} cannot be opened. Check that its folder exists and is writable.`)
  const place = existsSync(file) ? realpathSync(file) : join(realpathSync(folder), basename(file))
  // Not on the file itself: closing a descriptor of it would end the locks of SQLite (fcntl(2)).
  const lockFile = `${place}.lock`
  const descriptor = openSync(lockFile, 'a', 0o600)
  try {
    // One that its owner has removed meanwhile locks nothing.
    if (!lock(descriptor) || !isSameFile(descriptor, lockFile))
      throw new Error(`another service process uses the database ${place}; stop it, or set SVC_DATABASE_URL to another one`)
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
  return {
    release: () => {
      try {
        rmSync(lockFile, { force: true })
      } catch {
        // It stays on a disk that has become read-only, and locks nothing.
      }
      closeSync(descriptor)
    },
  }
}

const isSameFile = (descriptor: number, path: string): boolean =>
  fstatSync(descriptor).ino === statSync(path, { throwIfNoEntry: false })?.ino

/** Node has no flock(2). The lock that flock(1) takes belongs to the open directory, so it outlives flock(1) and ends with this process. */
const lock = (descriptor: number): boolean => {
  const { status, error } = spawnSync('flock', ['--exclusive', '--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', descriptor] })
  const HELD_BY_ANOTHER = 1
  if (status === 0) return true
  if (status === HELD_BY_ANOTHER) return false
  throw new Error(`the data directory or the database cannot be locked: ${whyNot(error)}`, { cause: error })
}

const whyNot = (error: Error | undefined): string => {
  const code = error !== undefined && 'code' in error ? error.code : undefined
  if (code === 'EMFILE' || code === 'ENFILE') return 'too few files may be open; raise the limit (ulimit -n, LimitNOFILE= of systemd)'
  return 'flock of the package util-linux failed; install util-linux'
}

/** Opens the socket; only the process with the lock uses it, so the socket of a dead process may be removed. */
const holdLock = async (descriptor: number, path: string, onHandover: () => void): Promise<InstanceLock> => {
  rmSync(path, { force: true })
  const asking = new Set<Socket>()
  const server = createServer((socket) => {
    asking.add(socket)
    socket.once('close', () => asking.delete(socket))
    socket.on('error', () => {})
    socket.setEncoding('utf8').once('data', (text) => {
      if (String(text) === TAKE_OVER) onHandover()
      else socket.destroy()
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  server.unref()
  return {
    release: () => {
      server.close()
      closeSync(descriptor)
      // A process that waits for the directory sees that it is free when its connection ends.
      for (const socket of asking) socket.destroy()
    },
  }
}

/** Connects to the other process; undefined when only the socket of a dead process is left. */
const reach = (path: string): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })

/** Asks the other process to hand over; the connection closes when that process has released the lock. */
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
