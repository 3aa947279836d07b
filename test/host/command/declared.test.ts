import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { startHttpServer } from '../../helpers/http-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { type CommandOptions, runCommand, runInTerminal, runProgram } from '../../helpers/process/command.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { changeSettings, untilPhase, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const COMMAND = resolve(import.meta.dirname, '../../../dist/cli.js')
const BALL = { uri: 'test://ball?width=320&height=240&fps=10' }
const AWAY = 'rtsp://viewer:s3cret@127.0.0.1:9/stream'
const simple = (id: string, more: object = {}) => ({ id, mode: 'simple', source: BALL, ...more })
const idle = (id: string, more: object = {}) => simple(id, { on_demand: true, ...more })

const service = shareService()
const environment = () => ({ SVC_URL: service.url, SVC_DATA_DIR: service.dataDir })
const run = (line: string, options: CommandOptions = {}) => runCommand(line.split(' '), { ...options, env: environment() })
const applyText = (declared: unknown, more = '') => run(`apply -f -${more}`, { input: JSON.stringify(declared) })

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'declared-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
const write = (declared: unknown): string => {
  const file = join(temporaryFolder(), 'cameras.yaml')
  writeFileSync(file, typeof declared === 'string' ? declared : stringify(declared))
  return file
}

const listed = async (of: Service) =>
  (await of.request('GET', '/svc/pipeline')).body as readonly { id: string; state: string; encoding: object | null }[]
const statesOf = async (of: Service) => Object.fromEntries((await listed(of)).map(({ id, state }) => [id, state]))
const framesOf = async (id: string): Promise<number> => (await viewOf(service, id)).runtime.frames

describe('video-pipeline-service apply', () => {
  it('prints the difference, then applies it, and touches nothing else', async () => {
    const first = write({ pipelines: [simple('gate'), idle('yard')], settings: { screenshots: { quality: 50 } } })
    const created = await run(`apply -f ${first}`)
    expect([created.status, created.stderr]).toEqual([0, ''])
    expect(created.stdout).toMatch(/^~ settings\n {4}screenshots\.quality: 85 → 50\n\+ gate\n {4}mode: simple\n/)
    expect(created.stdout).toMatch(/\n2 created, settings changed, 0 unchanged\n$/)
    expect((await run(`apply -f ${first}`)).stdout).toBe('2 unchanged\n')
    const frames = await framesOf('gate')

    const second = write([simple('gate'), idle('yard', { encoding: { codec: 'h264', bitrate: 500 } })])
    const dry = await run(`apply -f ${second} --dry-run`)
    expect(dry.stdout).toMatch(/^~ yard\n {4}encoding\.codec: – → h264\n[\s\S]*\nWould be: 1 changed, 1 unchanged\n$/)
    expect((await viewOf(service, 'yard')).encoding).toBeNull()
    expect((await run(`apply -f ${second} --json`)).stdout).toContain('"changed": [\n    "yard"\n  ]')
    // What does not differ played on: a new start would count its frames from 0.
    expect(await framesOf('gate')).toBeGreaterThan(frames)

    const secret = (password: string) => [simple('gate'), idle('yard', { source: { uri: AWAY.replace('s3cret', password) } })]
    expect((await applyText(secret('s3cret'))).stdout).toContain('rtsp://***@127.0.0.1:9/stream')
    expect((await applyText(secret('other'))).stdout).toMatch(/^~ yard\n {4}source\.uri: other credentials\n/)
    expect(await applyText([simple('gate')], ' --prune')).toMatchObject({ status: 0, stdout: '- yard\n1 deleted, 1 unchanged\n' })
    expect(await statesOf(service)).toEqual({ gate: 'playing' })
  })

  it('changes nothing when a file is wrong, and says where', async () => {
    const file = write(
      '- id: ok\n  mode: simple\n  source: { uri: "test://ball" }\n- id: bad\n  mode: simple\n  source: { url: "test://ball" }\n',
    )
    const { status, stdout, stderr } = await run(`apply -f ${file}`)
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toContain(`${file}:6:13: [1].source.url: Unknown field`)
    expect(await statesOf(service)).toEqual({})
  })

  it.each([
    ['/nowhere/cameras.yaml', 'there is no such file'],
    [import.meta.dirname, 'it is a folder'],
  ])('says why it cannot read %s', async (file, why) => {
    const stderr = `video-pipeline-service apply: ${file} cannot be read: ${why}.\n`
    expect(await run(`apply -f ${file}`)).toEqual({ status: 1, stdout: '', stderr })
  })

  it('says that the password of readers is set again, and not that it differs', async () => {
    const withPassword = (password: string) => ({ settings: { readers: { authentication: 'password', password } } })
    expect((await applyText(withPassword('a-password'))).stdout).toContain(
      '    readers.password: null → ***\nsettings changed, 0 unchanged\n',
    )
    const again = '~ settings\n    readers.password: is set again; the service does not show it\n'
    expect((await applyText(withPassword('a-password'), ' --dry-run')).stdout).toBe(`${again}Would be: 0 unchanged\n`)
    expect((await applyText(withPassword('a-password'))).stdout).toBe(`${again}0 unchanged\n`)
    expect((await applyText(withPassword('b-password'))).stdout).toBe(`${again}settings changed, 0 unchanged\n`)
    await changeSettings(service, { readers: { authentication: 'none', password: null } })
  })

  it('does not wait for sources; with --wait it shows what is under way, and fails for what does not start', async () => {
    await changeSettings(service, { start_timeout_seconds: 2 })
    const file = write([simple('away', { source: { uri: AWAY } }), simple('gate')])
    const { status, stdout } = await runInTerminal(['apply', '-f', file, '--wait'], 100, { env: environment() })
    expect(status).toBe(1)
    for (const part of ['away starting', '1 created', '1 failed']) expect(stdout).toContain(part)
    expect(stdout).not.toContain('s3cret')
    expect(await statesOf(service)).toEqual({ gate: 'playing' })
    expect(await run(`apply -f ${file}`)).toMatchObject({ status: 0, stdout: expect.stringContaining('1 created, 1 unchanged') })
    expect(await viewOf(service, 'away')).toMatchObject({ state: 'ready', on_demand: false, runtime: { desired: 'playing' } })
  })

  it('changes nothing with what export prints, as YAML and as JSON', async () => {
    await applyText([simple('gate'), idle('yard', { source: { uri: AWAY } }), simple('off', { state: 'ready' })])
    for (const format of ['', ' --json']) {
      const line = `"$0" "$1" export${format} | "$0" "$1" apply -f - --prune`
      const { stdout, stderr } = await runProgram('bash', ['-c', line, process.execPath, COMMAND], { env: environment() })
      expect([stdout, stderr]).toEqual(['3 unchanged\n', ''])
    }
    expect((await run('export')).stdout).not.toContain('s3cret')
  })
})

describe('video-pipeline-service create', () => {
  it('creates the pipelines of a file, and fails for those that are there', async () => {
    const created = await run('create -f -', { input: JSON.stringify(simple('gate')) })
    expect(created).toMatchObject({ status: 0, stdout: expect.stringContaining('gate  playing') })
    const again = await run(`create -f ${write([simple('gate'), idle('yard')])}`)
    expect(again).toMatchObject({ status: 1, stdout: 'yard  ready\n', stderr: expect.stringContaining('already exists') })
    expect(await run('create')).toMatchObject({ status: 2, stderr: expect.stringContaining('-f FILE') })
  })
})

describe('SVC_PIPELINES', () => {
  it('is applied at every start, also to what another file declared, while a source is away; what was stopped stays stopped', async () => {
    const declared = [simple('gate'), simple('away', { source: { uri: AWAY } }), idle('yard')]
    const first = await startService({ env: { SVC_PIPELINES: write({ pipelines: declared, settings: { screenshots: { quality: 50 } } }) } })
    expect(await first.waitForLog('declared_pipelines_applied')).toMatchObject({ applied: 3, failed: 0, settings_changed: true })
    await untilPhase(first, 'gate', 'playing')
    expect(await viewOf(first, 'away')).toMatchObject({ on_demand: false, runtime: { desired: 'playing' } })
    expect((await first.request('GET', '/svc/settings')).body.screenshots.quality).toBe(50)
    await first.request('POST', '/svc/pipeline', idle('mine'))
    expect((await first.request('PUT', '/svc/pipeline/away/stop')).status).toBe(200)
    await first.stop()

    const masked = simple('masked', { source: { uri: 'rtsp://***@10.0.0.5/stream' } })
    const changed = [simple('gate', { encoding: { codec: 'h264', bitrate: 300 } }), ...declared.slice(1), masked]
    const second = await startService({ dataDir: first.dataDir, env: { SVC_PIPELINES: write(changed) } })
    expect(await second.waitForLog('declared_pipelines_applied')).toMatchObject({ applied: 1, unchanged: 2, failed: 1 })
    const mistakes = [expect.stringContaining('none is stored for masked')]
    expect(await second.waitForLog('declared_pipelines_failed')).toMatchObject({ mistakes })
    expect(await viewOf(second, 'away')).toMatchObject({ runtime: { phase: 'idle', desired: 'ready' } })
    expect((await untilPhase(second, 'gate', 'playing')).encoding.bitrate).toBe(300)
    expect(Object.keys(await statesOf(second)).sort()).toEqual(['away', 'gate', 'mine', 'yard'])
  })

  it.each([
    ['is not there', () => '/nowhere/cameras.yaml', /SVC_PIPELINES: \/nowhere\/cameras\.yaml cannot be read: there is no such file$/m],
    [
      'is wrong',
      () => write('- id: gate\n  mode: simple\n  source: { uri: 7 }\n'),
      /SVC_PIPELINES: .*cameras\.yaml:3:13: \[0\]\.source\.uri: Use a string/,
    ],
  ])('keeps the service from starting when it %s', async (_, file, says) => {
    const env = { SVC_PORT: '0', SVC_DATA_DIR: temporaryFolder(), SVC_PIPELINES: file() }
    const { status, stderr } = await runProgram(process.execPath, [COMMAND, 'serve'], { env })
    expect([status, stderr]).toEqual([78, expect.stringMatching(says)])
  })

  it('does not keep it from starting when the service refuses one of its pipelines', async () => {
    const file = write([simple('gate'), { id: 'own', mode: 'advanced', raw_pipeline: 'nosuchelement ! fakesink' }])
    const started = await startService({ env: { SVC_PIPELINES: file } })
    const line = { level: 'error', id: 'own', error: expect.stringContaining('nosuchelement') }
    expect(await started.waitForLog('declared_pipeline_failed')).toMatchObject(line)
    await untilPhase(started, 'gate', 'playing')
  })

  it('is tried again with another license where one was missing', async () => {
    const file = join(temporaryFolder(), 'license.json')
    const install = (codecs: readonly string[]): void => {
      writeFileSync(`${file}.new`, JSON.stringify({ licensee: 'x', codecs }))
      renameSync(`${file}.new`, file)
    }
    install([])
    const SVC_PIPELINES = write([simple('gate', { encoding: { codec: 'h264' } })])
    const started = await startService({ env: { SVC_PIPELINES, SVC_LICENSE_FILE: file } })
    expect(await started.waitForLog('declared_pipeline_failed')).toMatchObject({ id: 'gate', error: expect.stringContaining('license') })
    install(['h264'])
    await started.waitForLog('declared_pipelines_applied', 2)
    await untilPhase(started, 'gate', 'playing')
  })

  it('may be an address, whose credentials are never shown; one that does not answer keeps the service from nothing', async () => {
    const wrong =
      '[{ id: gate, source: { uri: "test://ball?width=320&height=240&fps=10" } }, { id: own, raw_pipeline: "nosuchelement ! fakesink" }]'
    const { url } = await startHttpServer((_, response) => response.writeHead(200, { etag: '"1"' }).end(wrong))
    const started = await startService({ env: { SVC_PIPELINES: `${url.replace('://', '://site:pa55word@')}/site.yaml` } })
    expect(await started.waitForLog('declared_pipelines_applied')).toMatchObject({ applied: 1, failed: 1 })
    await untilPhase(started, 'gate', 'playing')
    await started.stop()
    const env = { SVC_PIPELINES: `http://site:pa55word@127.0.0.1:${await freePort()}/site.yaml` }
    const again = await startService({ dataDir: started.dataDir, env })
    expect(await again.waitForLog('declared_pipelines_unavailable')).toMatchObject({
      address: expect.stringMatching(/^http:\/\/\*\*\*@127/),
    })
    await untilPhase(again, 'gate', 'playing')
    expect([...started.log, ...again.log].join('\n')).not.toContain('pa55word')
  })
})
