import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Logs 20,000 lines of 1 kB on the log of the API, and says what waits; a line on stdin makes it go on. */
const FLOOD = `
  const { createServiceLog } = await import('${ROOT}/dist/service.js')
  const log = createServiceLog({ logLevel: 'info' })
  for (let line = 0; line < 20_000; line += 1) {
    log.info('flood', { line, text: 'x'.repeat(900) })
    if (line % 100 === 0) await new Promise(setImmediate)
  }
  process.stdout.write(process.stderr.writableLength + '\\n')
  process.stdin.once('data', () => { log.info('after', {}); process.stdin.destroy() })
`

it('a log that nobody reads holds 1 MiB, and tells how many lines it dropped when it is read again', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', FLOOD], { cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [waiting] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  expect(Number(waiting)).toBeGreaterThan(900_000)
  expect(Number(waiting)).toBeLessThan(1024 * 1024 + 2000)
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  while (!text.includes('log_lines_dropped')) await sleep(20)
  child.stdin.write('go on\n')
  await once(child, 'close')
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; lines?: number })
  const written = lines.filter(({ event }) => event === 'flood').length
  expect(lines.filter(({ event }) => event === 'log_lines_dropped')).toEqual([
    expect.objectContaining({ level: 'warn', lines: 20_000 - written }),
  ])
  expect(lines.at(-1)?.event).toBe('after')
})
