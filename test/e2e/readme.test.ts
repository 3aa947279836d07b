import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { codeBlocks, readDocument, section, shellCommands } from '../helpers/documents.ts'
import { RecordReader } from '../helpers/live/records.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const run = promisify(execFile)
const README = readDocument('README.md')

/** Runs a command of the README against a service that a test has started; answers what it printed. */
const runCommand = async (service: Service, command: string, options: { readonly cwd?: string } = {}): Promise<string> => {
  const adapted = command.replaceAll('http://127.0.0.1:8080', service.url).replaceAll('data/api-key', `${service.dataDir}/api-key`)
  const { stdout, stderr } = await run('sh', ['-c', adapted], { ...options, maxBuffer: 16 * 1024 * 1024 })
  return stdout + stderr
}

/** A player's command for a host without a screen, which ends by itself. */
const withoutScreen = (line: string): string =>
  line.startsWith('ffplay')
    ? `SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy timeout 3 ${line} || true`
    : line.replace(/ autovideosink$/, ' fakesink num-buffers=30')

describe('the README', () => {
  it('shows a first pipeline that can be created, read, watched, stopped and deleted', async () => {
    const commands = shellCommands(section(README, '## Quick start')).filter((line) => !line.startsWith('npm'))
    const service = await startService()
    const folder = temporaryDataDir()
    const [create = '', read = '', snapshot = '', ffplay = '', vlc = '', gstLaunch = '', stop = '', remove = '', ...more] = commands
    expect(more).toEqual([])

    const created = JSON.parse(await runCommand(service, create))
    expect(created).toMatchObject({ id: 'first', state: 'playing' })
    expect(JSON.parse(await runCommand(service, read))).toMatchObject({ id: 'first', runtime: { phase: 'playing' } })
    await runCommand(service, snapshot, { cwd: folder })
    expect(readFileSync(join(folder, 'first.jpg')).subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))

    // Without a range of its own the service would have taken the port that the README names.
    const { port } = new URL(created.output.uri.replace('rtsp:', 'http:'))
    const watch = (line: string): Promise<string> => runCommand(service, withoutScreen(line).replace('50000', port))
    expect(await watch(ffplay)).toMatch(/Video: h264.* 640x360/)
    expect(await watch(gstLaunch)).toContain('Got EOS from element')
    // Where the tests run there is no VLC that was built with RTSP.
    expect(vlc).toBe('vlc --rtsp-tcp rtsp://127.0.0.1:50000/first')

    expect(JSON.parse(await runCommand(service, stop))).toMatchObject({ state: 'ready' })
    expect(await runCommand(service, remove)).toBe('')
    expect((await service.request('GET', '/svc/pipeline')).body).toEqual([])
    await service.stop()
  })

  it('shows how to get live video over HTTP', async () => {
    const service = await startService()
    const folder = temporaryDataDir()
    await service.request('POST', '/svc/pipeline', { id: 'gate', mode: 'simple', source: { uri: 'test://ball' } })
    const [video = '', file = '', ffplay = '', gstLaunch = ''] = shellCommands(section(README, '## Live video over HTTP'))
    await runCommand(service, `${video} || true`, { cwd: folder })
    const [first, ...more] = new RecordReader().push(readFileSync(join(folder, 'gate.units')))
    expect(JSON.parse(String(first?.payload))).toMatchObject({ codec: expect.stringMatching(/^avc1/) })
    expect(more.length).toBeGreaterThan(10)
    await runCommand(service, `${file} || true`, { cwd: folder })
    expect(readFileSync(join(folder, 'gate.ts'))[0]).toBe(0x47)
    expect(await runCommand(service, withoutScreen(ffplay))).toMatch(/Video: h264.* 640x360/)
    expect(await runCommand(service, withoutScreen(gstLaunch).replace('-q ', ''))).toContain('Got EOS from element')
    await service.stop()
  })

  it('shows how to change a setting, follow the events, and use password, token and API key', async () => {
    const service = await startService()
    const [settings = ''] = shellCommands(section(README, '## Settings'))
    expect(JSON.parse(await runCommand(service, settings))).toMatchObject({ reconnect: { max_delay_seconds: 10 } })

    await service.request('POST', '/svc/pipeline', { id: 'gate', mode: 'simple', on_demand: true, source: { uri: 'test://ball' } })
    const [follow = ''] = shellCommands(section(README, '## Events'))
    expect(await runCommand(service, `timeout 2 ${follow} -s || true`)).toMatch(/^event: pipeline_status\ndata: \{"id":"gate"/m)

    const [set = '', login = '', list = '', remove = ''] = shellCommands(section(README, '### Authentication'))
    expect(JSON.parse(await runCommand(service, set))).toEqual({ auth_enabled: true })
    expect(JSON.parse(await runCommand(service, login))).toMatchObject({ token: expect.any(String), expires: expect.any(String) })
    expect(await service.request('GET', '/svc/pipeline')).toMatchObject({ status: 401 })
    expect(JSON.parse(await runCommand(service, list))).toMatchObject([{ id: 'gate' }])
    expect(await runCommand(service, remove)).toBe('')
    expect(await service.request('GET', '/svc/pipeline')).toMatchObject({ status: 200 })
    await service.stop()
  })

  it('shows pipelines that the API accepts', async () => {
    const bodies = codeBlocks(README, 'json').map((text) => JSON.parse(text) as { readonly mode: string })
    expect(new Set(bodies.map(({ mode }) => mode))).toEqual(new Set(['simple', 'advanced']))
    const service = await startService()
    for (const body of bodies) {
      expect(await service.request('POST', '/svc/pipeline/validate', body)).toMatchObject({ status: 200, body: { valid: true } })
    }
    await service.stop()
  })
})
