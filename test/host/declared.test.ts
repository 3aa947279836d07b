import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { type CommandOptions, runCommand, runInTerminal, runProgram } from '../helpers/process/command.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const COMMAND = resolve(import.meta.dirname, '../../dist/cli.js')
const BALL = { uri: 'test://ball?width=320&height=240&fps=10' }
const simple = (id: string, more: object = {}) => ({ id, mode: 'simple', source: BALL, ...more })

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'declared-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const write = (declared: unknown, name = 'cameras.yaml'): string => {
  const file = join(temporaryFolder(), name)
  writeFileSync(file, typeof declared === 'string' ? declared : stringify(declared))
  return file
}

const start = async (env: Record<string, string> = {}, dataDir?: string): Promise<Service> => {
  const service = await startService({ env, ...(dataDir !== undefined && { dataDir }) })
  onTestFinished(() => service.stop().then(() => {}))
  return service
}

const runOn =
  (service: Service) =>
  (args: readonly string[], options: CommandOptions = {}) =>
    runCommand(args, { ...options, env: { SVC_URL: service.url, SVC_DATA_DIR: service.dataDir } })

const statesOf = async (service: Service): Promise<Record<string, string>> => {
  const { body } = await service.request('GET', '/svc/pipeline')
  return Object.fromEntries((body as readonly { id: string; state: string }[]).map(({ id, state }) => [id, state]))
}

const framesOf = async (service: Service): Promise<number> =>
  ((await service.request('GET', '/svc/pipeline/gate')).body as { runtime: { frames: number } }).runtime.frames

describe('video-pipeline-service apply', () => {
  it('prints the difference, then makes it so, and touches nothing else', async () => {
    const service = await start()
    const run = runOn(service)
    const first = write({ pipelines: [simple('gate'), simple('yard', { on_demand: true })], settings: { screenshots: { quality: 50 } } })
    const created = await run(['apply', '-f', first])
    expect([created.status, created.stderr]).toEqual([0, ''])
    expect(created.stdout).toMatch(/^~ settings\n {4}screenshots\.quality: 85 → 50\n\+ gate\n {4}mode: simple\n/)
    expect(created.stdout).toMatch(/\n2 created, settings changed, 0 unchanged\n$/)
    expect((await run(['apply', '-f', first])).stdout).toBe('2 unchanged\n')
    const frames = await framesOf(service)

    const second = write([simple('gate'), simple('yard', { on_demand: true, encoding: { codec: 'h264', bitrate: 500 } })])
    const dry = await run(['apply', '-f', second, '--dry-run'])
    expect(dry.stdout).toMatch(/^~ yard\n {4}encoding\.codec: – → h264\n[\s\S]*\nWould be: 1 changed, 1 unchanged\n$/)
    expect((await service.request('GET', '/svc/pipeline/yard')).body.encoding).toBeNull()
    expect((await run(['apply', '-f', second, '--json'])).stdout).toContain('"changed": [\n    "yard"\n  ]')
    // What does not differ played on: a new start would count its frames from 0.
    expect(await framesOf(service)).toBeGreaterThan(frames)

    const source = { uri: 'rtsp://viewer:s3cret@10.0.0.5/stream' }
    const secret = (password: string) =>
      JSON.stringify([simple('gate'), simple('yard', { on_demand: true, source: { uri: source.uri.replace('s3cret', password) } })])
    expect((await run(['apply', '-f', '-'], { input: secret('s3cret') })).stdout).toContain('rtsp://***@10.0.0.5/stream')
    expect((await run(['apply', '-f', '-'], { input: secret('s3cret') })).stdout).toBe('2 unchanged\n')
    expect((await run(['apply', '-f', '-'], { input: secret('other') })).stdout).toMatch(/^~ yard\n {4}source\.uri: other credentials\n/)

    const pruned = await run(['apply', '-f', '-', '--prune'], { input: JSON.stringify([simple('gate')]) })
    expect(pruned).toMatchObject({ status: 0, stdout: '- yard\n1 deleted, 1 unchanged\n' })
    expect(await statesOf(service)).toEqual({ gate: 'playing' })
  }, 60_000)

  it('changes nothing when a file is wrong, and says where', async () => {
    const service = await start()
    const file = write(
      '- id: ok\n  mode: simple\n  source: { uri: "test://ball" }\n- id: bad\n  mode: simple\n  source: { url: "test://ball" }\n',
    )
    const { status, stdout, stderr } = await runOn(service)(['apply', '-f', file])
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${file}:6:13: [1].source.url: Unknown field`)
    expect(await statesOf(service)).toEqual({})
  })

  it.each([
    ['/nowhere/cameras.yaml', 'there is no such file'],
    [import.meta.dirname, 'it is a folder'],
  ])('says why it cannot read %s', async (file, why) => {
    expect(await runCommand(['apply', '-f', file])).toEqual({
      status: 1,
      stdout: '',
      stderr: `video-pipeline-service apply: ${file} cannot be read: ${why}.\n`,
    })
  })

  it('says that the password of readers is set again, and not that it differs', async () => {
    const service = await start()
    const run = runOn(service)
    const file = write({ settings: { readers: { authentication: 'password', password: 'a-password' } } })
    expect((await run(['apply', '-f', file])).stdout).toContain('    readers.password: null → ***\nsettings changed, 0 unchanged\n')
    const again = '~ settings\n    readers.password: is set again; the service does not show it\n'
    expect((await run(['apply', '-f', file, '--dry-run'])).stdout).toBe(`${again}Would be: 0 unchanged\n`)
    expect((await run(['apply', '-f', file])).stdout).toBe(`${again}0 unchanged\n`)
    const other = write({ settings: { readers: { password: 'b-password' } } })
    expect((await run(['apply', '-f', other])).stdout).toBe(`${again}settings changed, 0 unchanged\n`)
  })

  it('shows on a terminal what is under way, and fails for what does not start', async () => {
    const service = await start()
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 2 })
    const file = write([simple('away', { source: { uri: 'rtsp://viewer:s3cret@127.0.0.1:9/stream' } }), simple('gate')])
    const { status, stdout } = await runInTerminal(['apply', '-f', file], 100, {
      env: { SVC_URL: service.url, SVC_DATA_DIR: service.dataDir },
    })
    expect(status).toBe(1)
    expect(stdout).toContain('away starting')
    expect(stdout).toContain('1 created')
    expect(stdout).toContain('1 failed')
    expect(stdout).not.toContain('s3cret')
    expect(await statesOf(service)).toEqual({ gate: 'playing' })
  })

  it('is completed by the next run when it is killed half-way', async () => {
    const service = await start()
    const run = runOn(service)
    const ids = Array.from({ length: 8 }, (_, number) => `camera-${number}`)
    await run(['apply', '-f', write(ids.map((id) => simple(id)))])
    const encoding = { codec: 'h264', bitrate: 300 }
    const file = write([...ids.map((id) => simple(id, { encoding })), simple('new'), simple('off', { state: 'ready' })])
    const encoded = async (): Promise<number> => {
      const { body } = await service.request('GET', '/svc/pipeline')
      return (body as readonly { encoding: object | null }[]).filter((pipeline) => pipeline.encoding !== null).length
    }
    for (const enough of [1, 4]) {
      const child = spawn(process.execPath, [COMMAND, 'apply', '-f', file], {
        stdio: 'ignore',
        env: { ...process.env, SVC_URL: service.url },
      })
      const exited = once(child, 'exit')
      await until(encoded, (count) => count >= enough)
      child.kill('SIGKILL')
      await exited
    }
    expect(await run(['apply', '-f', file])).toMatchObject({ status: 0 })
    expect(await statesOf(service)).toEqual({ ...Object.fromEntries(ids.map((id) => [id, 'playing'])), new: 'playing', off: 'ready' })
    expect(await encoded()).toBe(8)
    expect((await run(['apply', '-f', file])).stdout).toBe('10 unchanged\n')
  }, 90_000)

  it('changes nothing with what export prints, as YAML and as JSON', async () => {
    // One port for all: the range of a test has not enough.
    const service = await start({ SVC_OUTPUT_PORTS: String(12_000 + ((process.pid * 7) % 20_000)) })
    const run = runOn(service)
    const source = { uri: 'rtsp://viewer:s3cret@10.0.0.5/stream' }
    for (let number = 0; number < 200; number++) {
      const { status } = await service.request(
        'POST',
        '/svc/pipeline',
        simple(`camera-${number}`, { on_demand: true, ...(number % 2 === 0 && { source }) }),
      )
      expect(status).toBe(201)
    }
    await service.request('POST', '/svc/pipeline', simple('gate'))
    for (const format of ['', ' --json']) {
      const line = `"$0" "$1" export${format} | "$0" "$1" apply -f - --prune`
      const { stdout, stderr } = await runProgram('bash', ['-c', line, process.execPath, COMMAND], { env: { SVC_URL: service.url } })
      expect([stdout, stderr]).toEqual(['201 unchanged\n', ''])
    }
    expect((await run(['export'])).stdout).not.toContain('s3cret')
  }, 90_000)
})

describe('video-pipeline-service create', () => {
  it('creates the pipelines of a file, and fails for those that are there', async () => {
    const service = await start()
    const run = runOn(service)
    expect(await run(['create', '-f', '-'], { input: JSON.stringify(simple('gate')) })).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('gate  playing'),
    })
    const again = await run(['create', '-f', write([simple('gate'), simple('yard', { on_demand: true })])])
    expect(again).toMatchObject({ status: 1, stdout: 'yard  ready\n', stderr: expect.stringContaining('already exists') })
    expect(await run(['create'])).toMatchObject({ status: 2, stderr: expect.stringContaining('-f FILE') })
  })
})

describe('SVC_PIPELINES', () => {
  it('is applied at every start, also to what another file declared, while a source is away', async () => {
    const declared = [simple('gate'), simple('away', { source: { uri: 'rtsp://127.0.0.1:9/stream' } }), simple('yard', { on_demand: true })]
    const dataDir = temporaryFolder()
    const first = await start({ SVC_PIPELINES: write({ pipelines: declared, settings: { screenshots: { quality: 50 } } }) }, dataDir)
    expect(await first.waitForLog('declared_pipelines_applied')).toMatchObject({ applied: 3, failed: 0, settings_changed: true })
    await until(
      () => statesOf(first),
      ({ gate }) => gate === 'playing',
    )
    expect(Object.keys(await statesOf(first)).sort()).toEqual(['away', 'gate', 'yard'])
    const { body } = await first.request('GET', '/svc/pipeline/away')
    expect([body.on_demand, body.runtime.desired]).toEqual([false, 'playing'])
    expect((await first.request('GET', '/svc/settings')).body.screenshots.quality).toBe(50)
    await first.request('POST', '/svc/pipeline', simple('mine', { on_demand: true }))
    await first.stop()

    const changed = [simple('gate', { encoding: { codec: 'h264', bitrate: 300 } }), ...declared.slice(1)]
    const second = await start({ SVC_PIPELINES: write(changed) }, dataDir)
    expect(await second.waitForLog('declared_pipelines_applied')).toMatchObject({ applied: 1, unchanged: 2, failed: 0 })
    await until(
      () => statesOf(second),
      ({ gate }) => gate === 'playing',
    )
    expect((await second.request('GET', '/svc/pipeline/gate')).body.encoding.bitrate).toBe(300)
    expect(Object.keys(await statesOf(second))).toContain('mine')
  }, 60_000)

  it.each([
    ['is not there', () => '/nowhere/cameras.yaml', /SVC_PIPELINES: \/nowhere\/cameras\.yaml cannot be read: there is no such file$/m],
    [
      'is wrong',
      () => write('- id: gate\n  mode: simple\n  source: { uri: 7 }\n'),
      /SVC_PIPELINES: .*cameras\.yaml:3:13: \[0\]\.source\.uri: Use a string/,
    ],
  ])('keeps the service from starting when it %s', async (_, file, says) => {
    const { status, stderr } = await runProgram(process.execPath, [COMMAND, 'serve'], {
      env: { SVC_PORT: '0', SVC_DATA_DIR: temporaryFolder(), SVC_PIPELINES: file() },
    })
    expect([status, stderr]).toEqual([78, expect.stringMatching(says)])
  })

  it('does not keep it from starting when the service refuses one of its pipelines', async () => {
    const file = write([simple('gate'), { id: 'own', mode: 'advanced', raw_pipeline: 'nosuchelement ! fakesink' }])
    const service = await start({ SVC_PIPELINES: file })
    expect(await service.waitForLog('declared_pipeline_failed')).toMatchObject({
      level: 'error',
      id: 'own',
      error: expect.stringContaining('nosuchelement'),
    })
    await until(
      () => statesOf(service),
      ({ gate }) => gate === 'playing',
    )
  })
})
