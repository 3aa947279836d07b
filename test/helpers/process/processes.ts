import { readdirSync, readFileSync } from 'node:fs'

export interface ProcessFacts {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

/** Every process of /proc except zombies. */
export const processes = (): readonly ProcessFacts[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = /^\d+ \(.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8'))
        if (stat === null || stat[1] === 'Z' || stat[1] === 'X') return []
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
        return [{ pid: Number(name), parent: Number(stat[2]), command }]
      } catch {
        return []
      }
    })

export const isAlive = (pid: number): boolean => processes().some((process) => process.pid === pid)

/** The pid of a process that must be there: kill(2) takes 0 for the whole process group of the caller. */
export const pidOf = (process: Pick<ProcessFacts, 'pid'> | undefined): number => {
  if (process === undefined) throw new Error('There is no such process')
  return process.pid
}

/** The programs that a process runs: inside of their sandboxes, where they have one. */
export const childrenOf = (pid: number): readonly ProcessFacts[] => {
  const all = processes()
  const of = (parent: number): readonly ProcessFacts[] => all.filter((process) => process.parent === parent)
  return of(pid).flatMap((child) => {
    const inside = /\bbwrap\b/.test(child.command) ? of(child.pid) : []
    return inside.length === 0 ? [child] : inside
  })
}

/** Pids of the processes with this entry (`NAME=value`) in their environment. */
export const processesWith = (entry: string): readonly number[] =>
  processes()
    .filter(({ pid }) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(entry)
      } catch {
        return false
      }
    })
    .map(({ pid }) => pid)

/** kill -9; a process that has ended meanwhile is no error. */
export const killProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** CPU time of a process so far, user and system, seconds. */
export const cpuSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** The same to the microsecond, of the threads that it has now: what a process uses that does little. */
export const runSeconds = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e9)
    .reduce((sum, seconds) => sum + seconds, 0)

/** Open file descriptors of a process. */
export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Resident memory of a process, bytes. */
export const residentBytes = (pid: number): number => {
  const [, pages = '0'] = readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')
  return Number(pages) * 4096
}

/** Memory that only this process has, bytes. */
export const privateBytes = (pid: number): number =>
  [...readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce(
    (sum, [, kb]) => sum + Number(kb) * 1024,
    0,
  )

/** Whether a process handles a signal (proc(5), SigCgt of status); false when it is gone. */
export const catches = (pid: number, signal: number): boolean => {
  try {
    const mask = /^SigCgt:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0'
    return (BigInt(`0x${mask}`) & (1n << BigInt(signal - 1))) !== 0n
  } catch {
    return false
  }
}
