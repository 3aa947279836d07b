import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'

/** Takes all descriptors that this process may have; the function gives them back. */
export const takeDescriptors = (): (() => void) => {
  // The path of a test may be its own.
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  const limit = (most: string) => execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${most}:`], { env })
  const before = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? ''
  limit('256')
  const taken: number[] = []
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'))
  } catch {
    // None is left.
  }
  return () => {
    for (const descriptor of taken) closeSync(descriptor)
    limit(before)
  }
}
