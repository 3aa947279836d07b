import { readdirSync, readFileSync } from 'node:fs'

/** open(2) O_CLOEXEC, which Node.js and its libraries set for nearly all that they open. */
const CLOSE_ON_EXEC = 0o2000000
// fcntl(2), the same on every architecture of Linux.
const F_SETFD = 2
const FD_CLOEXEC = 1

/**
 * Keeps children from inheriting what this process inherited by accident from the program that started it, such as a lock or a log.
 * Call it once, before the first child. The descriptors are marked, not closed: one may be that of a thread of Node.js that reads
 * NODE_EXTRA_CA_CERTS, and would then close another file with the same number.
 */
export const withholdInherited = async (): Promise<void> => {
  if (inheritable().length === 0) return
  const { default: koffi } = await import('koffi')
  const fcntl = koffi.load('libc.so.6').func('int fcntl(int fd, int command, ...)')
  for (const descriptor of inheritable()) fcntl(descriptor, F_SETFD, 'int', FD_CLOEXEC)
}

/** Descriptors that a child would inherit. */
const inheritable = (): readonly number[] =>
  readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > 2 && !closesOnExec(descriptor))

const closesOnExec = (descriptor: number): boolean => {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1]
    return flags === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0
  } catch {
    // Already closed, such as the descriptor of the listing itself.
    return true
  }
}
