import { setTimeout as sleep } from 'node:timers/promises'
import { killProcess, processes, processesWith } from '../process/processes.ts'
import { listPlugins } from './plugin-list.ts'
import { setUp } from './set-up.ts'
import { ownTemporaryFolder } from './temporary-folder.ts'

/** A killed process may take a moment to end, above all on a busy machine. */
const GRACE_MS = 5000

/** Global set-up of the project `processes`. The teardown fails the run when a process that it started is still there. */
export default () => {
  setUp('--test')
  const removeFolder = ownTemporaryFolder()
  listPlugins()
  // Workers and everything that they start inherit it; an engine hands no variable named SVC_… to its children.
  process.env.TEST_RUN = `${process.pid}-${Date.now()}`
  return async (): Promise<void> => {
    const left = await leftovers(`TEST_RUN=${process.env.TEST_RUN}`)
    for (const { pid } of left) killProcess(pid)
    await removeFolder()
    if (left.length === 0) return
    const lines = left.map(({ pid, command }) => `  ${pid} ${command}`)
    throw new Error(`Tests left ${left.length} processes behind (killed now):\n${lines.join('\n')}`)
  }
}

const leftovers = async (entry: string) => {
  const deadline = performance.now() + GRACE_MS
  for (;;) {
    const pids = new Set(processesWith(entry))
    // The workers of the test runner itself end after the teardown.
    const left = processes().filter(({ pid, command }) => pids.has(pid) && !/\bvitest\b/.test(command))
    if (left.length === 0 || performance.now() > deadline) return left
    await sleep(50)
  }
}
