import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from '../process/processes.ts'

const NAME = /^vps-tests-(\d+)$/

/**
 * What no test can remove: the list of plugins of the run, the caches of npm and of Node.js, and the folder of Miniflare, which it
 * removes some time after `dispose()` has returned, if its process is still there.
 */
const UNAVOIDABLE = /^(?:gstreamer-registry\.bin|npm-|node-compile-cache|miniflare-)/

/** Programs that end with a test may still remove their own files. */
const GRACE_MS = 5000

/** Prevents no run where it fails: a file system that a killed run has mounted there cannot be removed. */
const removeLeftover = (folder: string): void => {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  } catch (error) {
    process.stderr.write(`${folder} of an earlier run stays: ${String(error)}\n`)
  }
}

/**
 * Gives the run a temporary folder of its own, which workers and all that they start inherit. The returned function removes it, and
 * tells what tests have left there. The folder of a run that was killed is removed by the next one.
 */
export const ownTemporaryFolder = (): (() => Promise<void>) => {
  // The projects of a run share the folder of the first.
  if (NAME.test(process.env.TMPDIR?.split('/').at(-1) ?? '')) return async () => {}
  const parent = tmpdir()
  for (const name of readdirSync(parent)) {
    const pid = NAME.exec(name)?.[1]
    if (pid !== undefined && !isAlive(Number(pid))) removeLeftover(join(parent, name))
  }
  const folder = join(parent, `vps-tests-${process.pid}`)
  mkdirSync(folder)
  process.env.TMPDIR = folder
  return async () => {
    const left = await leftovers(folder)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    if (left.length > 0)
      process.stderr.write(`\n Left in the temporary folder by tests: ${left.length}\n${left.map((name) => `  ${name}\n`).join('')}`)
  }
}

const leftovers = async (folder: string): Promise<readonly string[]> => {
  const deadline = performance.now() + GRACE_MS
  for (;;) {
    const left = readdirSync(folder).filter((name) => !UNAVOIDABLE.test(name))
    if (left.length === 0 || performance.now() > deadline) return left.map((name) => described(folder, name))
    await sleep(50)
  }
}

/** The name and, of a folder, what is in it: the prefix and that tell which test made it. */
const described = (folder: string, name: string): string => {
  try {
    return `${name}: ${readdirSync(join(folder, name)).slice(0, 10).join(' ')}`
  } catch {
    return name
  }
}
