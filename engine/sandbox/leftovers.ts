import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { readProcessStart } from '../../lib/engine/process-start.ts'
import { pause } from '../../lib/pause.ts'

/** Tells in the environment of a child which process started it. */
const STARTED_BY = 'VIDEO_PIPELINE_STARTED_BY'

/** A program may start another while it is killed, which the next look then finds. */
const MOST_LOOKS = 20
const NEXT_LOOK_MS = 20

/** When a process of this host started, which tells it from another with its pid; undefined when there is none, or only a zombie. */
export const processStart = (pid: number | 'self'): string | undefined => {
  try {
    return readProcessStart(readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'), readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return undefined
  }
}

/** Pids mean something inside of one namespace alone, and a container's processes are seen from its host. */
const ownNamespace = (): string | undefined => {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}

/** The environment entry of all children of this process; none where it cannot be told from others. */
export const startedByThis = (): Readonly<Record<string, string>> => {
  const [namespace, started] = [ownNamespace(), processStart('self')]
  return namespace === undefined || started === undefined ? {} : { [STARTED_BY]: `${namespace} ${process.pid} ${started}` }
}

/**
 * Kills what processes that are gone have started and left; resolves to how many. A child dies with the process that started it,
 * as soon as it has asked the kernel to: one whose parent is killed before that runs on, or waits for it for ever.
 */
export const killLeftovers = async (): Promise<number> => {
  let killed = 0
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const found = leftovers().filter(kill)
    if (found.length === 0) break
    killed += found.length
    await pause(NEXT_LOOK_MS)
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

/** False when it has ended meanwhile, or is not ours to kill. */
const kill = (pid: number): boolean => {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}
