import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** What a watch has seen. */
export interface Watched {
  /** How often all processes were read. */
  readonly polls: number
  /** How many there were. */
  readonly processes: number
  /** Which of the texts were in their arguments or environments. */
  readonly found: readonly string[]
}

/**
 * Reads the arguments and environments of all that a process starts, again and again without a pause, for any of the texts. Resolves when
 * it has begun.
 */
export const watchArguments = async (root: number, texts: readonly string[]): Promise<{ readonly stop: () => Promise<Watched> }> => {
  const over = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { root, texts, over } })
  const failed = once(worker, 'error').then(([error]) => Promise.reject(error))
  await Promise.race([once(worker, 'message'), failed])
  const watched = Promise.race([once(worker, 'message').then(([result]) => result as Watched), failed])
  // Its end may come before anybody asks for it.
  watched.catch(() => {})
  return {
    stop: () => {
      Atomics.store(over, 0, 1)
      return watched
    },
  }
}

const read = (file: string): string => {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    // It has ended.
    return ''
  }
}

/** Those of all threads. */
const childrenOf = (pid: string): readonly string[] =>
  tasksOf(pid).flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean))

const tasksOf = (pid: string): readonly string[] => {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

const watch = ({ root, texts, over }: { readonly root: number; readonly texts: readonly string[]; readonly over: Int32Array }): Watched => {
  const [seen, found] = [new Set<string>(), new Set<string>()]
  let polls = 0
  for (; Atomics.load(over, 0) === 0; polls += 1) {
    for (let pids = childrenOf(String(root)); pids.length > 0; pids = pids.flatMap(childrenOf)) {
      for (const pid of pids) {
        seen.add(pid)
        const shown = read(`/proc/${pid}/cmdline`) + read(`/proc/${pid}/environ`)
        for (const text of texts) if (shown.includes(text)) found.add(text)
      }
    }
  }
  return { polls, processes: seen.size, found: [...found] }
}

if (!isMainThread) {
  parentPort?.postMessage('watching')
  parentPort?.postMessage(watch(workerData))
}
