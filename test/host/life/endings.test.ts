import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { followSse } from '../../helpers/api/sse-client.ts'
import { type Launch, type MarkedRun, startMarked } from '../../helpers/process/marked-run.ts'
import { catches, childrenOf, pidOf, processes, processesWith } from '../../helpers/process/processes.ts'
import { request, startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { until } from '../../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }

const start = async (launch: Launch, env: Record<string, string> = {}): Promise<MarkedRun> => {
  const run = await startMarked(launch, env)
  onTestFinished(() => run.clear())
  return run
}

const playing = async (launch: Launch): Promise<MarkedRun> => {
  const run = await start(launch)
  await run.shows('service_ready')
  for (const id of ['one', 'two']) expect((await request(`${run.url}/svc/pipeline`, 'POST', { id, ...BALL })).status).toBe(201)
  expect(processesWith(run.mark).length).toBeGreaterThanOrEqual(4)
  return run
}

/** Nothing is left within 10 s. */
const expectNothingLeft = (run: MarkedRun, withinMs = 10_000) => expect.poll(() => run.left(), { timeout: withinMs }).toEqual([])
const expectEnds = async (run: MarkedRun): Promise<void> => {
  const began = performance.now()
  expect(await run.exited).toBe(0)
  await expectNothingLeft(run, 10_000 - (performance.now() - began))
}

const apiPid = async (run: MarkedRun): Promise<number> => (await until(() => run.apiPid(), Boolean)) ?? 0
const enginePid = (api: number): number => pidOf(processes().find(({ parent, command }) => parent === api && command.includes('engine.js')))

describe('the end of the service leaves nothing behind', () => {
  it('after Ctrl-C in a terminal, which reaches every process, and npm sends it on', async () => {
    const run = await playing('terminal')
    expect(run.output()).toContain(`${run.dataDir}/api-key`)
    expect(run.output()).not.toContain('"event"')
    run.type('\x03')
    await expectEnds(run)
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('after %s, however often it comes', async (signal) => {
    const run = await playing('node')
    run.signalGroup(signal)
    for (let time = 0; time < 20; time += 1) setTimeout(() => run.apiPid() !== undefined && run.signalGroup(signal), time * 10)
    await expectEnds(run)
  })

  it('after a signal to npm and its whole group', async () => {
    const run = await playing('npm')
    run.signalGroup('SIGTERM')
    await expectNothingLeft(run)
  })

  it.each([0, 150, 600])('after a signal during the start, after %i ms', async (delayMs) => {
    const run = await start('node')
    // Before its first line of code a process ends by the signal itself, and has opened nothing. Node handles the others by itself.
    await until(
      () => run.apiPid() ?? 0,
      (pid) => pid !== 0 && catches(pid, constants.signals.SIGHUP),
    )
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    run.signalGroup('SIGTERM')
    await expectEnds(run)
  })

  it('after a signal while the engine lists the plugins: it tidies up first, however often it comes', async () => {
    const dataDir = temporaryDataDir()
    const engine = spawn(process.execPath, ['dist/engine.js'], { stdio: 'ignore', env: { ...process.env, SVC_DATA_DIR: dataDir } })
    const exit = once(engine, 'exit')
    await expect.poll(() => childrenOf(engine.pid ?? 0).some(({ command }) => command.includes('gst-inspect-1.0'))).toBe(true)
    for (let time = 0; time < 3; time += 1) engine.kill('SIGTERM')
    expect(await exit).toEqual([0, null])
    expect(readdirSync(dataDir).filter((name) => name !== 'gstreamer-registry.bin')).toEqual([])
  })

  it('after a signal that ends a helper process of the start first', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-path-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    // In the place of flock(1), which takes the lock of the data directory: the signal reaches the group while it runs.
    writeFileSync(join(folder, 'flock'), '#!/bin/sh\nkill -TERM 0\nsleep 5\n', { mode: 0o755 })
    await expectEnds(await start('node', { PATH: `${folder}:${process.env.PATH}` }))
  })

  it.each([
    ['hangs: it is killed, and its children die with it', 'SIGSTOP'],
    ['gets the signal first', 'SIGTERM'],
  ] as const)('when the engine %s', async (_, signal) => {
    const run = await playing('node')
    const api = await apiPid(run)
    process.kill(enginePid(api), signal)
    await new Promise((resolve) => setTimeout(resolve, 30))
    process.kill(api, 'SIGTERM')
    await expectEnds(run)
  })

  it('while requests wait for a start that takes long', async () => {
    const run = await playing('node')
    const slow = { id: 'slow', mode: 'simple', source: { uri: 'udp://127.0.0.1:9' } }
    const answer = request(`${run.url}/svc/pipeline`, 'POST', slow).catch(() => undefined)
    await expect.poll(async () => (await request(`${run.url}/svc/health`, 'GET')).body.pipelines).toEqual({ total: 2, playing: 2 })
    run.signalGroup('SIGINT')
    await expectEnds(run)
    await answer
  })
})

describe('the end of the service', () => {
  it('finishes requests in progress, closes event streams and takes no new request', async () => {
    const service = await startService()
    const stream = followSse(await fetch(`${service.url}/svc/events`))
    const { hostname, port } = new URL(service.url)
    const socket = connect({ host: hostname, port: Number(port) })
    let answer = ''
    socket.setEncoding('latin1').on('data', (data) => {
      answer += data
    })
    const body = '{"geolocation":null}'
    const head = `host: localhost\r\ncontent-length: ${body.length}\r\nexpect: 100-continue`
    socket.write(`PATCH /svc/pipeline/nobody HTTP/1.1\r\n${head}\r\n\r\n`)
    // The service has the head of the request and waits for its body.
    await expect.poll(() => answer).toContain('100 Continue')
    const ended = service.stop()
    await service.waitForLog('service_stopping')
    await stream.rest()
    await expect(fetch(`${service.url}/svc/version`)).rejects.toThrow()
    socket.write(body)
    await once(socket, 'close')
    expect(answer).toMatch(/HTTP\/1\.1 404 [\s\S]*"NOT_FOUND"/)
    expect(await ended).toBe(0)
  })
})
