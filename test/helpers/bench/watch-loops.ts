import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from './measure.ts'

/** The environment of Node.js processes whose event loops are watched; `folder` gets what they found. */
export const watchedLoops = (folder: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=${join(import.meta.dirname, 'loop-block.mjs')}`,
  LOOP_BLOCK_FILE: join(folder, 'block'),
})

/** Watches from now on; the function that it answers ends that and answers the longest block of any of the event loops, milliseconds. */
export const watchLoops = async (pids: readonly number[], folder: string): Promise<() => Promise<number>> => {
  const files = pids.map((pid) => join(folder, `block.${pid}`))
  const signal = (): void => {
    for (const pid of pids) process.kill(pid, 'SIGUSR2')
  }
  for (const file of files) rmSync(file, { force: true })
  signal()
  await sleep(100)
  return async () => {
    signal()
    while (!files.every((file) => existsSync(file))) await sleep(10)
    return Math.max(...files.map((file) => Number(readFileSync(file, 'utf8'))))
  }
}
