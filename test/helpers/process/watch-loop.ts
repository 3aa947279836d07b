import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../until.ts'

/** Node.js writes the longest block of the event loop since the last SIGUSR2 to a file, milliseconds. */
export const watchLoop = (folder: string) => {
  const [script, file] = [join(folder, 'loop.cjs'), join(folder, 'longest-')]
  writeFileSync(
    script,
    `const loop = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 5 })
    process.on('SIGUSR2', () => { require('node:fs').writeFileSync(${JSON.stringify(file)} + process.pid, String(loop.max / 1e6)); loop.reset() })
    loop.enable()`,
  )
  const longest = async (pid: number): Promise<number> => {
    writeFileSync(`${file}${pid}`, '')
    process.kill(pid, 'SIGUSR2')
    return Number(await until(() => readFileSync(`${file}${pid}`, 'utf8'), Boolean))
  }
  return { env: { NODE_OPTIONS: `--require ${script}` }, longest }
}
