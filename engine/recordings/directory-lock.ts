import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'

const LOCK_FILE = '.lock'

/**
 * Creates the directory and takes it for this process, until it ends; false while another process has it. Rejects with the file system's
 * error. Node has no flock(2): the lock that flock(1) takes belongs to the open file, and the kernel releases it with this process.
 */
export const takeDirectory = async (folder: string): Promise<boolean> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = await open(join(folder, LOCK_FILE), constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  const flock = spawn('flock', ['--exclusive', '--nonblock', '3'], { stdio: ['ignore', 'ignore', 'ignore', lock.fd] })
  const [status] = await once(flock, 'exit').catch(() => [])
  if (status === 0) {
    held.add(lock)
    return true
  }
  await lock.close()
  if (status === 1) return false
  throw Object.assign(new Error('flock of the package util-linux failed; install util-linux'), { code: 'EIO', errno: -5 })
}

/** Not to be closed by the garbage collector. */
const held = new Set<unknown>()
