import { readFileSync } from 'node:fs'

export interface ProcessUsage {
  /** User and system time since the process started. */
  readonly cpuSeconds: number
  readonly residentBytes: number
}

/** USER_HZ, the unit of CPU time in proc(5): 100 on every Linux architecture that Node supports. */
const TICKS_PER_SECOND = 100

/** CPU time and memory of a process (proc(5)); undefined when it has exited. */
export const readProcessUsage = (pid: number): ProcessUsage | undefined => {
  try {
    // The command name is in parentheses and may contain any character; utime and stime are fields 14 and 15.
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
