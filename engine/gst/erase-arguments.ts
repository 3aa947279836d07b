import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'

const BLANK = 0x20
/** Longest argument list of Linux (MAX_ARG_STRLEN and the usual stack limit leave far less to us). */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Blanks the arguments of a process that has read them, so that `ps` and /proc show the program's name alone: an address may hold
 * a password. False when the kernel does not allow it (kernel.yama.ptrace_scope 2 or 3) or the process is gone.
 */
export const eraseArguments = (pid: number): boolean => {
  try {
    const range = argumentRange(pid)
    if (range === undefined || range.bytes <= 0 || range.bytes > MAX_BYTES) return false
    const memory = openSync(`/proc/${pid}/mem`, 'r+')
    try {
      return erase(memory, range)
    } finally {
      closeSync(memory)
    }
  } catch {
    return false
  }
}

interface Range {
  readonly start: number
  readonly bytes: number
}

/** proc(5): arg_start and arg_end are fields 48 and 49 of stat; the command's name before them stands in brackets and may hold anything. */
const argumentRange = (pid: number): Range | undefined => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ')
  const [start, end] = [Number(fields[45]), Number(fields[46])]
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && start > 0 ? { start, bytes: end - start } : undefined
}

const erase = (memory: number, { start, bytes }: Range): boolean => {
  const text = Buffer.alloc(bytes)
  if (readSync(memory, text, 0, bytes, start) !== bytes) return false
  const name = text.indexOf(0)
  if (name < 0) return false
  text.fill(BLANK, name + 1, bytes - 1)
  return writeSync(memory, text, 0, bytes, start) === bytes
}
