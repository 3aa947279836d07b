import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { readProcessStart } from '../../lib/engine/process-start.ts'
import { pause } from '../../lib/pause.ts'

/** Environment variable of children: the process that started them. */
const STARTED_BY = 'VIDEO_PIPELINE_STARTED_BY'

/** A program may start another while it is killed; the next scan finds that one. */
const MAX_SCANS = 20
const SCAN_PAUSE_MS = 20

/** The start of a process, which distinguishes it from a later one with its pid; undefined for no process, and for a zombie. */
export const processStart = (pid: number | 'self'): string | undefined => {
  try {
    return readProcessStart(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'), readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return undefined
  }
}

/** Pids are unique within one namespace only, and the host of a container sees its processes. */
const ownNamespace = (): string | undefined => {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}

/** The environment entry of all children of this process; none where /proc does not identify it. */
export const startedByThis = (): Readonly<Record<string, string>> => {
  const [namespace, started] = [ownNamespace(), processStart('self')]
  return namespace === undefined || started === undefined ? {} : { [STARTED_BY]: `${namespace} ${process.pid} ${started}` }
}

/**
 * Kills the children that ended processes have left; resolves to their number. A child dies with its parent once it has called
 * prctl(2); one whose parent is killed before that runs on, or waits for it.
 */
export const killLeftovers = async (): Promise<number> => {
  let killed = 0
  for (let scan = 0; scan < MAX_SCANS; scan += 1) {
    const found = leftovers().filter(kill)
    if (found.length === 0) break
    killed += found.length
    await pause(SCAN_PAUSE_MS)
  }
  return killed
}

const leftovers = (): readonly number[] => {
  const namespace = ownNamespace()
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      const [where, by, started] = starterOf(pid)
      return where === namespace && started !== undefined && processStart(Number(by)) !== started && processStart(pid) !== undefined
    })
}

/** Namespace, pid and start; empty for a process of others. */
const starterOf = (pid: number): readonly string[] => {
  try {
    const entry = readFileSync(`/proc/${pid}/environ`, 'latin1')
      .split('\0')
      .find((each) => each.startsWith(`${STARTED_BY}=`))
    return entry?.slice(STARTED_BY.length + 1).split(' ') ?? []
  } catch {
    return []
  }
}

/** False when it has ended, or belongs to another user. */
const kill = (pid: number): boolean => {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}
