import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startMarked } from '../helpers/process/marked-run.ts'
import { childrenOf, isAlive, pidOf, processes } from '../helpers/process/processes.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { until } from '../helpers/until.ts'

const BALL = { mode: 'simple', source: { uri: 'test://ball?width=160&height=120&fps=15' } }

const create = async (service: Service, id: string, more: Record<string, unknown> = {}): Promise<string> => {
  const { status, body } = await service.request('POST', '/svc/pipeline', { id, ...BALL, ...more })
  expect({ status, message: body.message }).toEqual({ status: 201, message: undefined })
  return body.output.uri.replace('0.0.0.0', '127.0.0.1')
}

const view = async (service: Service, id: string) => (await service.request('GET', `/svc/pipeline/${id}`)).body

describe('a process that dies', () => {
  it('leaves the streams alone when it is the API process, and the next one takes over the engine', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const url = await create(first, 'goes-on')
    await create(first, 'stopped')
    await first.request('PUT', '/svc/pipeline/stopped/stop')
    const engine = first.enginePid()
    const [child] = childrenOf(engine)
    const reader = await openReader(url)
    onTestFinished(() => reader.close())
    await first.kill()

    const second = await startService({ dataDir })
    expect(second.enginePid()).toBe(engine)
    expect(childrenOf(engine).map(({ pid }) => pid)).toEqual([child?.pid])
    expect(await view(second, 'goes-on')).toMatchObject({ state: 'playing', runtime: { readers: 1, restarts: 0 } })
    expect(await view(second, 'stopped')).toMatchObject({ state: 'ready', runtime: { desired: 'ready' } })
    const before = reader.count
    await reader.until(() => reader.count > before + 20)
    expect(sequenceGaps(reader.packets)).toEqual([])
    expect(await second.stop()).toBe(0)
    expect(isAlive(engine)).toBe(false)
    expect(isAlive(child?.pid ?? 0)).toBe(false)
  })

  it('leaves an engine that is late, when it is the API process while that starts: the engine of the next one stays', async () => {
    const run = await startMarked('node')
    onTestFinished(() => run.clear())
    const late = await until(
      () => childrenOf(run.apiPid() ?? -1).find(({ command }) => command.endsWith('dist/engine.js')),
      (found) => found !== undefined,
    )
    process.kill(pidOf(late), 'SIGSTOP')
    run.signalGroup('SIGKILL')
    await run.exited
    const service = await startService({ dataDir: run.dataDir })
    const engine = service.enginePid()
    process.kill(pidOf(late), 'SIGCONT')
    await until(
      () => isAlive(pidOf(late)),
      (alive) => !alive,
    )
    expect(service.enginePid()).toBe(engine)
    await service.stop()
  })

  it('leaves nothing to the next engine: it kills what an earlier one started and could not end', async () => {
    const script = `
      import { spawn } from 'node:child_process'
      import { startedByThis } from './engine/sandbox/leftovers.ts'
      const { pid } = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore', env: startedByThis() })
      process.stdout.write(String(pid))
      process.exit()`
    const left = Number(spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }).stdout)
    expect(isAlive(left)).toBe(true)
    await startService()
    expect(isAlive(left)).toBe(false)
  })

  it('is replaced when it is the engine, without orphans, and its pipelines play again', async () => {
    const service = await startService()
    await create(service, 'wanted')
    await create(service, 'on-demand', { on_demand: true })
    await service.request('PUT', '/svc/pipeline/on-demand/play')
    await create(service, 'unwanted')
    await service.request('PUT', '/svc/pipeline/unwanted/stop')
    const engine = service.enginePid()
    const children = childrenOf(engine)
    expect(children).toHaveLength(2)
    process.kill(engine, 'SIGKILL')
    await until(
      () => children.filter(({ pid }) => isAlive(pid)),
      (alive) => alive.length === 0,
    )
    await service.waitForLog('engine_ready', 2)
    for (const [id, state] of [
      ['wanted', 'playing'],
      ['on-demand', 'playing'],
      ['unwanted', 'ready'],
    ] as const) {
      const answer = await until(
        () => view(service, id),
        (body) => body.state === state,
      )
      expect(answer.runtime.desired).toBe(state)
    }
    expect(childrenOf(service.enginePid())).toHaveLength(2)
    await service.stop()
  })

  it('starts what is not on-demand again after a restart, and a failing one keeps nobody', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    await create(first, 'stays')
    await create(first, 'was-stopped')
    await first.request('PUT', '/svc/pipeline/was-stopped/stop')
    await first.request('PUT', '/svc/pipeline/was-stopped', { ...BALL, source: { uri: 'rtsp://127.0.0.1:1/away' } })
    await create(first, 'demanded', { on_demand: true })
    await first.request('PATCH', '/svc/pipeline/stays', { geolocation: { latitude: 1, longitude: 2 } })
    const before = await view(first, 'stays')
    expect(await first.stop()).toBe(0)

    const second = await startService({ dataDir })
    const stays = await until(
      () => view(second, 'stays'),
      ({ state }) => state === 'playing',
    )
    for (const field of ['source', 'encoding', 'output', 'klv_config', 'geolocation', 'created_at', 'updated_at']) {
      expect(stays[field]).toEqual(before[field])
    }
    const away = await until(
      () => view(second, 'was-stopped'),
      ({ runtime }) => runtime.phase === 'reconnecting',
    )
    expect(away).toMatchObject({ state: 'ready', runtime: { desired: 'playing', last_error: { message: expect.any(String) } } })
    expect(await view(second, 'demanded')).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    await second.stop()
  })

  it('loses no acknowledged write', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const acknowledged = new Map<string, number>()
    let going = true
    const write = async (worker: number): Promise<void> => {
      for (let round = 0; going; round += 1) {
        const id = `p-${worker}-${round % 5}`
        const latitude = (round % 90) + worker / 10
        try {
          if (round < 5) {
            const created = await first.request('POST', '/svc/pipeline', {
              id,
              ...BALL,
              on_demand: true,
              geolocation: { latitude, longitude: 0 },
            })
            if (created.status === 201) acknowledged.set(id, latitude)
          } else if ((await first.request('PATCH', `/svc/pipeline/${id}`, { geolocation: { latitude, longitude: 0 } })).status === 200) {
            acknowledged.set(id, latitude)
          }
        } catch {
          return
        }
      }
    }
    const workers = [0, 1, 2].map(write)
    await until(
      () => acknowledged.size,
      (size) => size === 15,
    )
    await first.kill()
    going = false
    await Promise.all(workers)

    const second = await startService({ dataDir })
    for (const [id, latitude] of acknowledged) {
      const kept = (await view(second, id)).geolocation.latitude
      // The write in progress at the kill may have been stored too.
      expect([latitude, (latitude + 5) % 90, kept]).toContain(kept)
      expect(kept).toBeTypeOf('number')
    }
    await second.stop()
  })

  it('leaves its data directory to one process: a second is refused unless it takes over', async () => {
    const dataDir = temporaryDataDir()
    const first = await startService({ dataDir })
    const url = await create(first, 'uncut')
    const reader = await openReader(url)
    onTestFinished(() => reader.close())
    const engine = first.enginePid()
    const entry = resolve(import.meta.dirname, '../../dist/node.js')
    const refused = spawnSync(process.execPath, [entry], {
      env: { ...process.env, SVC_DATA_DIR: dataDir, SVC_PORT: '0' },
      encoding: 'utf8',
    })
    expect(refused.status).toBe(69)
    expect(refused.stderr).toContain('--takeover')

    const second = await startService({ dataDir, args: ['--takeover'] })
    await until(
      () => isAlive(first.pid),
      (alive) => !alive,
    )
    expect(second.enginePid()).toBe(engine)
    expect((await view(second, 'uncut')).runtime).toMatchObject({ phase: 'playing', readers: 1, restarts: 0 })
    const before = reader.count
    await reader.until(() => reader.count > before + 10)
    await second.stop()
  })

  it('has written files that only its owner can read', async () => {
    const service = await startService()
    const mode = (name: string): string => (statSync(`${service.dataDir}/${name}`).mode & 0o777).toString(8)
    expect(mode('.')).toBe('700')
    expect(mode('api-key')).toBe('600')
    expect(mode('engine.json')).toBe('600')
    expect(mode('service.db')).toBe('600')
    const key = readFileSync(`${service.dataDir}/api-key`, 'utf8').trim()
    expect(key.length).toBeGreaterThanOrEqual(32)
    const { token } = JSON.parse(readFileSync(`${service.dataDir}/engine.json`, 'utf8')) as { token: string }
    expect(service.log.join('\n')).not.toContain(key)
    expect(service.log.join('\n')).not.toContain(token)
    expect(processes().some(({ command }) => command.includes(token))).toBe(false)
    await service.stop()
  })
})
