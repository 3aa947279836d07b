import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { ENGINE_TOKEN, startEngine } from '../helpers/process/engine-process.ts'
import { isAlive } from '../helpers/process/processes.ts'
import { startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

/** The program ends before the test does. */
const ended = async (pid: number): Promise<number> => {
  const began = performance.now()
  await until(
    () => isAlive(pid),
    (alive) => !alive,
    60_000,
  )
  return performance.now() - began
}

it('engine and API that run by themselves end when they hang, not when stopped or debugged', { timeout: 120_000 }, async () => {
  const hang = join(temporaryDataDir(), 'hang.cjs')
  writeFileSync(hang, "process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))")
  const hangs = { NODE_OPTIONS: `--require ${hang}` }
  const startApi = async (url: string, env = {}) => {
    const api = await startService({ env: { SVC_ENGINE_URL: url, SVC_ENGINE_TOKEN: ENGINE_TOKEN, ...env } })
    onTestFinished(() => api.kill())
    return api
  }
  const [engine, stopped] = await Promise.all([startEngine({ env: hangs }), startEngine()])
  onTestFinished(() => engine.kill())
  onTestFinished(() => stopped.kill())
  const [api, stoppedApi, debugged] = await Promise.all([
    startApi(stopped.url, hangs),
    startApi(stopped.url),
    startApi(stopped.url, { NODE_OPTIONS: `${hangs.NODE_OPTIONS} --inspect=127.0.0.1:0` }),
  ])
  // The debugger is seen with the first beat.
  await sleep(6000)
  for (const { pid } of [stopped, stoppedApi]) process.kill(pid, 'SIGSTOP')
  for (const { pid } of [engine, api, debugged]) process.kill(pid, 'SIGUSR2')
  for (const ms of await Promise.all([ended(engine.pid), ended(api.pid)])) expect(ms).toBeGreaterThan(15_000)
  expect(await api.waitForLog('api_hangs')).toMatchObject({ level: 'error', process: 'api', after_ms: 20_000 })
  for (const { pid } of [stopped, stoppedApi]) process.kill(pid, 'SIGCONT')
  expect((await fetch(`${stopped.url}/healthz`)).status).toBe(200)
  expect((await stoppedApi.request('GET', '/svc/healthz')).status).toBe(200)
  // Longer than the second after which both threads have looked at their clocks, and than a beat.
  await sleep(6000)
  for (const { pid } of [stopped, stoppedApi, debugged]) expect(isAlive(pid)).toBe(true)
})
