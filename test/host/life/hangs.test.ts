import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { ENGINE_TOKEN, startEngine } from '../../helpers/process/engine-process.ts'
import { isAlive } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { createPipeline } from '../../helpers/service/pipelines.ts'

/** How often the event loop of a process was woken so far (proc(5)). */
const wakeups = (pid: number): number =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8'))?.[1])

// In one test, since most of it is to wait.
it('engine and API that run by themselves end when they hang, not when stopped or debugged; those that idle sleep meanwhile', async () => {
  const hang = join(temporaryDataDir(), 'hang.cjs')
  writeFileSync(hang, "process.on('SIGUSR2', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))")
  const hangs = { NODE_OPTIONS: `--require ${hang}` }
  const [engine, stopped] = await Promise.all([startEngine({ env: hangs }), startEngine()])
  for (const one of [engine, stopped]) onTestFinished(() => one.kill())
  const startApi = (env = {}) => startService({ env: { SVC_ENGINE_URL: stopped.url, SVC_ENGINE_TOKEN: ENGINE_TOKEN, ...env } })
  const [api, stoppedApi, debugged, idle] = await Promise.all([
    startApi(hangs),
    startApi(),
    startApi({ NODE_OPTIONS: `${hangs.NODE_OPTIONS} --inspect=127.0.0.1:0` }),
    startService(),
  ])
  for (const id of ['a', 'b', 'c']) await createPipeline(idle, id, { on_demand: true })
  // The debugger is seen with the first beat.
  await sleep(6000)
  for (const { pid } of [stopped, stoppedApi]) process.kill(pid, 'SIGSTOP')
  for (const { pid } of [engine, api, debugged]) process.kill(pid, 'SIGUSR2')
  const began = performance.now()
  await expect.poll(() => [engine.pid, api.pid].filter(isAlive), { timeout: 60_000, interval: 100 }).toEqual([])
  expect(performance.now() - began).toBeGreaterThan(15_000)
  expect(await api.waitForLog('api_hangs')).toMatchObject({ level: 'error', process: 'api', after_ms: 20_000 })
  for (const { pid } of [stopped, stoppedApi]) process.kill(pid, 'SIGCONT')
  expect((await fetch(`${stopped.url}/healthz`)).status).toBe(200)
  expect((await stoppedApi.request('GET', '/svc/healthz')).status).toBe(200)
  // Nothing plays and nobody asks: no process wakes more than twice a second, as soon as all timeouts have passed.
  const wakesPerSecond = async (): Promise<number> => {
    const pids = [idle.pid, idle.enginePid()]
    const before = pids.map(wakeups)
    // Longer than the second after which both threads have looked at their clocks, and than a beat.
    await sleep(6000)
    return Math.max(...pids.map((pid, at) => wakeups(pid) - (before[at] ?? 0))) / 6
  }
  await expect.poll(wakesPerSecond, { timeout: 40_000 }).toBeLessThanOrEqual(2)
  for (const { pid } of [stopped, stoppedApi, debugged]) expect(isAlive(pid)).toBe(true)
}, 120_000)
