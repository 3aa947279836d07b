import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Launch, type MarkedRun, startMarked } from '../helpers/process/marked-run.ts'
import { catches, childrenOf, pidOf, processes, processesWith } from '../helpers/process/processes.ts'
import { request } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }
const READY = 'service_ready'

const start = async (launch: Launch): Promise<MarkedRun> => {
  const run = await startMarked(launch)
  onTestFinished(() => run.clear())
  return run
}

const playing = async (launch: Launch): Promise<MarkedRun> => {
  const run = await start(launch)
  await run.shows(READY)
  for (const id of ['one', 'two']) expect((await request(`${run.url}/svc/pipeline`, 'POST', { id, ...BALL })).status).toBe(201)
  expect(processesWith(run.mark).length).toBeGreaterThanOrEqual(4)
  return run
}

const ended = async (run: MarkedRun, code: number | null = 0): Promise<void> => {
  const began = performance.now()
  expect(await run.exited).toBe(code)
  await until(
    () => run.left(),
    (left) => left.length === 0,
    10_000 - (performance.now() - began),
  )
}

const apiPid = async (run: MarkedRun): Promise<number> =>
  (await until(
    () => run.apiPid(),
    (pid) => pid !== undefined,
  )) ?? 0

describe('the end of the service leaves nothing behind', () => {
  it('after Ctrl-C in a terminal, which reaches every process, and npm sends it on', async () => {
    const run = await playing('terminal')
    expect(run.output()).toContain(`${run.dataDir}/api-key`)
    expect(run.output()).not.toContain('"event"')
    run.type('\x03')
    await ended(run)
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`after ${signal}, however often it comes`, async () => {
      const run = await playing('node')
      run.signalGroup(signal)
      for (let time = 0; time < 20; time += 1) setTimeout(() => run.apiPid() !== undefined && run.signalGroup(signal), time * 10)
      await ended(run)
    })
  }

  it('after a signal to npm and its whole group', async () => {
    const run = await playing('npm')
    run.signalGroup('SIGTERM')
    await until(
      () => run.left(),
      (left) => left.length === 0,
      10_000,
    )
  })

  it('after a signal during the start, at any moment of it', async () => {
    for (const delayMs of [0, 50, 150, 300, 600]) {
      const run = await start('node')
      // Before its first line of code a process ends by the signal itself, and has opened nothing. Node handles the others by itself.
      await until(
        () => run.apiPid() ?? 0,
        (pid) => pid !== 0 && catches(pid, constants.signals.SIGHUP),
      )
      await new Promise((resolve) => setTimeout(resolve, delayMs))
      run.signalGroup('SIGTERM')
      await ended(run)
    }
  })

  it('after a signal while the engine lists the plugins: it tidies up first, however often it comes', async () => {
    const dataDir = temporaryDataDir()
    const engine = spawn(process.execPath, ['dist/engine.js'], { stdio: 'ignore', env: { ...process.env, SVC_DATA_DIR: dataDir } })
    const exit = once(engine, 'exit')
    await until(
      () => childrenOf(engine.pid ?? 0),
      (children) => children.some(({ command }) => command.includes('gst-inspect-1.0')),
    )
    for (let time = 0; time < 3; time += 1) engine.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    expect(readdirSync(dataDir).filter((name) => name !== 'gstreamer-registry.bin')).toEqual([])
  })

  it('after a signal that ends a helper process of the start first', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-path-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    // In the place of flock(1), which takes the lock of the data directory: the signal reaches the group while it runs.
    writeFileSync(join(folder, 'flock'), '#!/bin/sh\nkill -TERM 0\nsleep 5\n', { mode: 0o755 })
    const run = await startMarked('node', { PATH: `${folder}:${process.env.PATH}` })
    onTestFinished(() => run.clear())
    await ended(run)
  })

  it('when the engine hangs: it is killed, and its children die with it', async () => {
    const run = await playing('node')
    const api = await apiPid(run)
    const engine = processes().find(({ parent, command }) => parent === api && command.includes('engine.js'))
    process.kill(pidOf(engine), 'SIGSTOP')
    const began = performance.now()
    process.kill(api, 'SIGTERM')
    await ended(run)
    expect(performance.now() - began).toBeLessThan(10_000)
  })

  it('when the engine gets the signal first', async () => {
    const run = await playing('node')
    const api = await apiPid(run)
    const engine = processes().find(({ parent, command }) => parent === api && command.includes('engine.js'))
    process.kill(pidOf(engine), 'SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 30))
    process.kill(api, 'SIGTERM')
    await ended(run)
  })

  it('while requests wait for a start that takes long', async () => {
    const run = await playing('node')
    const slow = { id: 'slow', mode: 'simple', source: { uri: 'udp://127.0.0.1:9' } }
    const answer = request(`${run.url}/svc/pipeline`, 'POST', slow).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 200))
    run.signalGroup('SIGINT')
    await ended(run)
    await answer
  })
})
