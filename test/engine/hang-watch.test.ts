import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startEngine } from '../helpers/process/engine-process.ts'
import { isAlive } from '../helpers/process/processes.ts'
import { until } from '../helpers/until.ts'

it('an engine that runs by itself ends when it hangs, and not because it was stopped for a while', { timeout: 90_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hang-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const hang = join(folder, 'hang.cjs')
  writeFileSync(hang, "process.on('SIGUSR2', () => { for (;;); })")
  const [hanging, stopped] = await Promise.all([startEngine({ env: { NODE_OPTIONS: `--require ${hang}` } }), startEngine()])
  onTestFinished(() => hanging.kill())
  onTestFinished(() => stopped.kill())
  process.kill(stopped.pid, 'SIGSTOP')
  process.kill(hanging.pid, 'SIGUSR2')
  const began = performance.now()
  await until(
    () => isAlive(hanging.pid),
    (alive) => !alive,
    60_000,
  )
  expect(performance.now() - began).toBeGreaterThan(15_000)
  process.kill(stopped.pid, 'SIGCONT')
  expect((await fetch(`${stopped.url}/healthz`)).status).toBe(200)
  // Longer than the second after which both threads have looked at their clocks.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  expect(isAlive(stopped.pid)).toBe(true)
})
