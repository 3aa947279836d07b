import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openService } from '../../../handlers/node/service.ts'
import { type Configuration, readConfiguration } from '../../../lib/configuration/configuration.ts'
import { startMarked } from '../../helpers/process/marked-run.ts'
import { processes, processesWith } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { silentLog } from '../../helpers/rtsp/media.ts'
import { givePluginList } from '../../helpers/run/plugin-list.ts'
import { createPipeline, untilPhase, viewOf } from '../../helpers/service/pipelines.ts'

/** Of this run alone: the processes of the host are searched for it. */
const PASSWORD = `correct horse battery ${randomUUID()}`
const keyOf = ({ dataDir }: { dataDir: string }): string => readFileSync(join(dataDir, 'api-key'), 'utf8').trim()

describe('the log of a start', () => {
  it('names address, data directory, engine and where the API key is; it and the arguments of processes have no secret', async () => {
    const service = await startService()
    const files = { data_dir: service.dataDir, api_key_in: join(service.dataDir, 'api-key') }
    const gstreamer_version = expect.stringMatching(/^\d+\.\d+/)
    expect(await service.waitForLog('service_ready')).toMatchObject({ url: service.url, ...files, gstreamer_version })
    const mode = (name: string): string => (statSync(join(service.dataDir, name)).mode & 0o777).toString(8)
    expect(['.', 'api-key', 'engine.json', 'service.db'].map(mode)).toEqual(['700', '600', '600', '600'])
    const { token } = JSON.parse(readFileSync(join(service.dataDir, 'engine.json'), 'utf8')) as { token: string }
    expect(keyOf(service).length).toBeGreaterThanOrEqual(32)
    for (const secret of [keyOf(service), token]) expect(service.log.join('\n')).not.toContain(secret)
    expect(processes().some(({ command }) => command.includes(token))).toBe(false)
  })

  it('says that the license is expired, and why', async () => {
    const file = join(temporaryDataDir(), 'license.json')
    writeFileSync(file, '{"licensee":"x","codecs":["h264"],"max_streams":2,"expires":"2001-01-01"}')
    const service = await startService({ env: { SVC_LICENSE_FILE: file, SVC_API_KEY: 'a-key-of-the-environment' } })
    expect(await service.waitForLog('license_expired')).toMatchObject({
      level: 'warn',
      file,
      reason: expect.stringMatching(/^It expired on /),
    })
    expect(await service.waitForLog('service_ready')).toMatchObject({ api_key_in: 'SVC_API_KEY' })
    expect(service.log.join('\n')).not.toContain('a-key-of-the-environment')
  })

  it.each([
    ['in color', '', {}],
    ['without color where NO_COLOR is set, with an address that can be opened', '1', { SVC_HOST: '0.0.0.0', SVC_PASSWORD: PASSWORD }],
  ])('is text with a banner on a terminal, %s', async (_, NO_COLOR, env) => {
    const run = await startMarked('terminal', { TERM: 'xterm', NO_COLOR, SVC_PROFILE: 'docs', SVC_DOCS_PORT: '0', ...env })
    onTestFinished(() => run.clear())
    await run.shows('Ctrl-C stops it.')
    // npm shows the command first, unless it is silent.
    const ours = run.output().split('dist/node.js').at(-1) ?? ''
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colors of a terminal begin with one
    const plain = ours.replace(/\u001b\[\d+m/g, '')
    expect(ours === plain).toBe(NO_COLOR === '1')
    const shown = Object.fromEntries([...plain.matchAll(/^ {2}(\S+(?: \S+)?) {2,}(\S.*?)\r?$/gm)].map(([, label, text]) => [label, text]))
    expect(shown).toMatchObject({ 'API key': `${run.dataDir}/api-key`, Data: run.dataDir, Engine: expect.stringMatching(/^GStreamer \d/) })
    const hosts = [shown.Dashboard, shown.API, shown['API docs']].map((url) => new URL(url ?? '').hostname)
    expect([new Set(hosts).size, hosts.includes('0.0.0.0')]).toEqual([1, false])
    expect(plain.match(/^[\d:.]{12} {2}info {3}(?:api {3}|engine) {2}\w+/gm)?.length).toBeGreaterThan(2)
    expect(ours).not.toContain(keyOf(run))
    run.type('\x03')
    expect(await run.exited).toBe(0)
  })
})

describe('the password of the environment', () => {
  it('protects the API from the first request on, is kept nowhere else, and does not replace a stored one', async () => {
    const first = await startService({ env: { SVC_PASSWORD: PASSWORD } })
    expect((await first.request('GET', '/svc/pipeline')).status).toBe(401)
    expect(processesWith(`SVC_PASSWORD=${PASSWORD}`)).toEqual([first.pid])
    expect(first.log.join('\n')).not.toContain(PASSWORD)
    await first.stop()
    const second = await startService({ dataDir: first.dataDir, env: { SVC_PASSWORD: 'another password' } })
    const login = async (password: string) => (await second.request('POST', '/svc/auth/login', { password })).status
    expect([await login('another password'), await login(PASSWORD)]).toEqual([400, 200])
  })

  it('is required where other hosts reach the API, as in the image', async () => {
    const dataDir = temporaryDataDir()
    const env = { SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_HOST: '0.0.0.0', SVC_REQUIRE_PASSWORD: '1' }
    const refused = spawnSync(process.execPath, [resolve('dist/node.js')], { encoding: 'utf8', env: { ...process.env, ...env } })
    const mistake = expect.stringMatching(/SVC_PASSWORD: no password is stored, .* Set SVC_PASSWORD/)
    expect([refused.status, refused.stderr]).toEqual([78, mistake])
    const service = await startService({ dataDir, env: { ...env, SVC_PASSWORD: PASSWORD } })
    const removal = await service.request('DELETE', '/svc/auth/password', undefined, { 'x-api-key': keyOf(service) })
    expect(removal).toMatchObject({ status: 409, body: { code: 'CONFLICT', details: { reason: 'password_required' } } })
    expect((await service.request('GET', '/svc/pipeline')).status).toBe(401)
  })
})

describe('the license', () => {
  it('starts what it refused at the start of the service as soon as it is valid', async () => {
    const file = join(temporaryDataDir(), 'license.json')
    const install = (more: object): void => {
      writeFileSync(`${file}.new`, JSON.stringify({ licensee: 'x', codecs: ['h264'], ...more }))
      renameSync(`${file}.new`, file)
    }
    const env = { SVC_LICENSE_FILE: file }
    install({})
    const before = await startService({ env })
    await createPipeline(before, 'gate')
    await before.stop()
    install({ expires: '2001-01-01' })
    const service = await startService({ dataDir: before.dataDir, env })
    expect((await service.waitForLog('pipeline_not_reconciled')).id).toBe('gate')
    expect(await viewOf(service, 'gate')).toMatchObject({ state: 'ready', runtime: { phase: 'idle' } })
    install({})
    await untilPhase(service, 'gate', 'playing')
  })
})

describe('a data directory or database that cannot be used', () => {
  const configured = (dataDir: string) => readConfiguration({ SVC_DATA_DIR: dataDir, SVC_DASHBOARD: '0' }) as Configuration
  const open = (dataDir: string) => openService(configured(dataDir), { log: silentLog })
  const listedDataDir = (): string => {
    const dataDir = temporaryDataDir()
    givePluginList(dataDir)
    return dataDir
  }

  it('leaves the data directory free for another attempt', async () => {
    const dataDir = listedDataDir()
    const file = join(dataDir, 'service.db')
    writeFileSync(file, 'this is no database '.repeat(100))
    await expect(open(dataDir)).rejects.toThrow(/database/)
    rmSync(file)
    await (await open(dataDir)).stop()
  })

  it.each(['credential', 'settings', 'pipelines'])('is shown by the health where its %s are damaged', async (table) => {
    const dataDir = listedDataDir()
    await (await open(dataDir)).stop()
    // Overwrites the first page of the table.
    const file = join(dataDir, 'service.db')
    const client = createClient({ url: `file:${file}` })
    const size = Number((await client.execute('PRAGMA page_size')).rows[0]?.page_size)
    const { rows } = await client.execute({ sql: 'SELECT rootpage FROM sqlite_schema WHERE name = ?', args: [table] })
    client.close()
    const descriptor = openSync(file, 'r+')
    writeSync(descriptor, Buffer.alloc(size, 0xff), 0, size, (Number(rows[0]?.rootpage) - 1) * size)
    closeSync(descriptor)
    const service = await startService({ dataDir })
    const body = { status: 'degraded', database: 'unavailable' }
    expect(await service.request('GET', '/svc/health')).toMatchObject({ status: 503, body })
    expect(service.log.join('\n')).not.toContain('engine_lost')
  })
})

describe('a host that lacks something', () => {
  const BALL = { mode: 'simple', source: { uri: 'test://ball' }, on_demand: true }
  const OWN = { mode: 'advanced', raw_pipeline: 'videotestsrc is-live=true ! x264enc ! rtph264pay name=pay0', on_demand: true }
  const UGLY = expect.stringContaining('apt-get install gstreamer1.0-plugins-ugly')

  /** The plugins of this host without the encoders of H.264. */
  const withoutEncoders = (): Record<string, string> => {
    const [line = ''] = /^ *Filename +\S+$/m.exec(execFileSync('gst-inspect-1.0', ['videoconvert']).toString()) ?? []
    const installed = join(line.trim().split(/ +/)[1] ?? '', '..')
    const folder = join(temporaryDataDir(), 'plugins')
    mkdirSync(folder)
    const encoders = /libgst(?:x264|openh264|x265|libav|va|vaapi|nvcodec|qsv|msdk|video4linux2|v4l2codecs|omx)\.so$/
    for (const name of readdirSync(installed)) if (!encoders.test(name)) symlinkSync(join(installed, name), join(folder, name))
    return { GST_PLUGIN_SYSTEM_PATH_1_0: folder, GST_REGISTRY: join(folder, '..', 'registry.bin') }
  }

  it('an encoder: create, validate, replace, play and triggers alike answer 500 with the package to install', async () => {
    const key = { 'x-api-key': 'the-api-key-of-this-test' }
    const before = await startService()
    await createPipeline(before, 'ball', { on_demand: true })
    await createPipeline(before, 'passed', { on_demand: true, source: { uri: 'rtsp://127.0.0.1:9/none' } })
    await before.stop()
    const service = await startService({ dataDir: before.dataDir, env: { ...withoutEncoders(), SVC_API_KEY: key['x-api-key'] } })
    for (const [method, path, body] of [
      ['POST', '/svc/pipeline', { id: 'new', ...BALL }],
      ['POST', '/svc/pipeline/validate', { id: 'own', ...OWN }],
      ['PUT', '/svc/pipeline/passed', { ...OWN, id: 'passed' }],
      ['PUT', '/svc/pipeline/ball/play', undefined],
      ['PUT', '/svc/triggers/mediaServer/publish?path=live', undefined],
    ] as const) {
      const answer = await service.request(method, path, body, key)
      const details = { reason: 'missing_element', cause: UGLY }
      expect([path, answer.status, answer.body]).toMatchObject([path, 500, { code: 'ENGINE_ERROR', details }])
    }
    // A name that no package has is a mistake in the description.
    const typo = await service.request('POST', '/svc/pipeline/validate', { ...OWN, id: 'own', raw_pipeline: 'videotestsrcc ! fakesink' })
    expect([typo.status, typo.body.code]).toEqual([400, 'VALIDATION_ERROR'])
    expect((await service.request('GET', '/svc/pipeline')).body).toHaveLength(2)
  })

  it('GStreamer: a client is told what to install', async () => {
    const folder = join(temporaryDataDir(), 'bin')
    mkdirSync(folder)
    for (const name of readdirSync('/usr/bin')) if (!name.startsWith('gst-')) symlinkSync(join('/usr/bin', name), join(folder, name))
    const service = await startService({ env: { PATH: folder } })
    for (const [path, body] of [
      ['/svc/pipeline', { id: 'ball', ...BALL }],
      ['/svc/pipeline/validate', { id: 'own', ...OWN }],
    ] as const) {
      const answer = await service.request('POST', path, body)
      const message = 'GStreamer is not installed. Install it: apt-get install gstreamer1.0-tools'
      expect([path, answer.status, answer.body]).toMatchObject([path, 503, { message, details: { reason: 'engine_missing' } }])
    }
  })

  it('a home, and takes long to list the plugins: finds the engine at once', async () => {
    const scanner = join(temporaryDataDir(), 'slow-scanner')
    writeFileSync(scanner, '#!/bin/sh\nexec sleep 8\n', { mode: 0o755 })
    const service = await startService({ env: { HOME: '/proc/none', GST_PLUGIN_SCANNER: scanner, SVC_SANDBOX: 'off' } })
    expect(await service.waitForLog('service_ready')).toMatchObject({ gstreamer_version: expect.stringMatching(/^\d+\.\d+/) })
    expect(service.log.join('\n')).not.toContain('engine_lost')
  })
})
