import { readFileSync } from 'node:fs'

export interface ProcessUsage {
  /** User and system, since the process started. */
  readonly cpuSeconds: number
  readonly residentBytes: number
}

/** USER_HZ, the unit in which proc(5) tells CPU time: 100 on every Linux architecture that Node runs on. */
const TICKS_PER_SECOND = 100

/** What proc(5) tells of a process; undefined when it is gone. */
export const readProcessUsage = (pid: number): ProcessUsage | undefined => {
  try {
    // The command's name stands in brackets and may hold anything; utime and stime are the 14th and 15th field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
    if (resident === undefined) return undefined
    return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND, residentBytes: Number(resident) * 1024 }
  } catch {
    return undefined
  }
}
