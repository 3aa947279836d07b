import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { helpOf, VERBS, type VerbName } from '../../../handlers/cli/command-line/verbs.ts'
import { type CommandOptions, runCommand, runInTerminal, runProgram } from '../../helpers/process/command.ts'
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { changeSettings, command, createPipeline, viewOf } from '../../helpers/service/pipelines.ts'
import { shareService } from '../../helpers/service/share-service.ts'

const SOURCE = { uri: 'test://ball?width=320&height=240' }
const HIDDEN = { uri: 'rtsp://viewer:s3cret@127.0.0.1:9/stream' }

const service = shareService()
beforeEach(async () => {
  await createPipeline(service, 'yard', { on_demand: true, source: HIDDEN })
})
const playGate = () => createPipeline(service, 'gate', { source: SOURCE })

const environment = () => ({ SVC_URL: service.url, SVC_DATA_DIR: service.dataDir })
const run = (line: string, options: CommandOptions = {}) =>
  runCommand(line.split(' '), { ...options, env: { ...environment(), ...options.env } })
const terminal = (line: string, columns: number, options: CommandOptions = {}) =>
  runInTerminal(line.split(' '), columns, { ...options, env: { ...environment(), ...options.env } })

// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal begin with one
const withoutSequences = (text: string): string => text.replace(/\u001b\[[?\d;]*[A-Za-z]/g, '')

describe('video-pipeline-service ls', () => {
  it('prints a table whose columns a script can split', async () => {
    await playGate()
    const { status, stdout } = await run('ls')
    const [head = [], ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect([status, head.slice(0, 5)]).toEqual([0, ['ID', 'STATE', 'FOR', 'SOURCE', 'OUTPUT']])
    expect(rows.map(([id, state, , source]) => [id, state, source])).toEqual([
      ['yard', 'ready', 'rtsp://***@127.0.0.1:9/stream'],
      ['gate', 'playing', SOURCE.uri],
    ])
    expect(rows[1]?.[4]).toMatch(/^rtsp:\/\/127\.0\.0\.1:\d+\/gate$/)
  })

  it('prints what the API answers with --json, ids with --quiet, and only what is asked for', async () => {
    await playGate()
    expect(JSON.parse((await run('ls --json --state playing')).stdout)).toMatchObject([{ id: 'gate', state: 'playing', source: SOURCE }])
    expect((await run('ls -q')).stdout).toBe('yard\ngate\n')
    expect((await run('ls --quiet --state=ready')).stdout).toBe('yard\n')
  })

  it.each([60, 140])('fits into a terminal of %s columns, in color unless NO_COLOR is set', async (columns) => {
    await playGate()
    const { stdout } = await terminal('ls', columns)
    expect(stdout).toContain('\u001b[32m● playing\u001b[0m')
    const lines = withoutSequences(stdout).trimEnd().split(/\r?\n/)
    expect([lines.length, lines.filter((line) => [...line].length > columns)]).toEqual([3, []])
    const plain = (await terminal('ls', columns, { env: { NO_COLOR: '1' } })).stdout
    expect(plain).toContain('● playing')
    expect(plain).not.toContain('\u001b[3')
  })

  it('watches: draws over itself on a terminal, prints a table for each change elsewhere', async () => {
    await playGate()
    const drawn = await terminal('ls --watch', 100, { until: (text) => text.includes('\u001b[3A') })
    expect([drawn.status, drawn.stdout.trimEnd().endsWith('\u001b[?25h')]).toEqual([0, true])
    const stopped = run('ls --watch --json', { until: (text) => text.includes('"state":"ready","source":{"uri":"test') })
    await command(service, 'gate', 'stop')
    const { status, stdout } = await stopped
    expect([status, JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')]).toMatchObject([
      0,
      [{ id: 'yard' }, { id: 'gate', state: 'ready' }],
    ])
  })
})

describe('video-pipeline-service get', () => {
  it('shows every field of a pipeline', async () => {
    const { stdout } = await run('get yard')
    expect(stdout).toMatch(/^yard {2}ready\n/)
    for (const field of Object.keys((await viewOf(service, 'yard')).runtime))
      expect(stdout).toMatch(new RegExp(`^  runtime\\.${field}`, 'm'))
    expect(stdout).toMatch(/created_at +\S+Z \(\d+ m?s ago\)/)
  })
})

describe('video-pipeline-service play, stop, delete', () => {
  it('do so with several pipelines, say what they reached, and go on after one that fails', async () => {
    await playGate()
    expect(await run('stop nobody gate')).toEqual({
      status: 3,
      stdout: 'gate  ready\n',
      stderr: 'nobody  No pipeline has the id nobody. Run `ls` to see the pipelines.\n',
    })
    expect((await run('stop gaet')).stderr).toBe('gaet  No pipeline has the id gaet. Run `ls` to see the pipelines. Did you mean gate?\n')
    expect((await run('get gatee')).stderr).toMatch(/ No pipeline has the id gatee\. .* Did you mean gate\?\n$/)
    const { status, stdout } = await run('play gate')
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^gate {2}playing {2}rtsp:\/\/127\.0\.0\.1:\d+\/gate\n$/)])
    expect(await run('delete gate')).toMatchObject({ status: 1, stderr: expect.stringContaining('--force') })
    expect(await run('delete gate --force --json')).toMatchObject({ status: 0, stdout: '{"id":"gate","deleted":true}\n' })
    expect(await run('delete yard')).toMatchObject({ status: 0, stdout: 'yard  deleted\n' })
  })

  it('show on a terminal what they wait for, and why it did not start', async () => {
    await changeSettings(service, { start_timeout_seconds: 2 })
    const { status, stdout } = await terminal('play yard', 100)
    expect([status, withoutSequences(stdout)]).toEqual([1, expect.stringMatching(/✗ yard {2}The pipeline did not start in time/)])
    expect(stdout).toContain('yard starting')
    expect(stdout).not.toContain('s3cret')
  })

  it('end with Ctrl-C, and say that the service goes on', async () => {
    const { status, stdout } = await terminal('play yard', 100, { until: (text) => text.includes('starting') })
    expect([status, withoutSequences(stdout)]).toEqual([1, expect.stringContaining('✗ yard  Interrupted. The service may still complete')])
  })
})

describe('video-pipeline-service events', () => {
  it('follows one pipeline until Ctrl-C', async () => {
    await playGate()
    const following = run('events gate --json', { until: (text) => text.includes('"phase":"idle"') })
    await command(service, 'gate', 'stop')
    const { status, stdout } = await following
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
    expect([status, last]).toMatchObject([0, { id: expect.any(String), event: 'pipeline_status', data: { id: 'gate', state: 'ready' } }])
  })

  it('has a line for each event of all pipelines', async () => {
    await createPipeline(service, 'porch', { on_demand: true })
    const { stdout } = await run('events', { until: (text) => text.includes('porch') })
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d {2}yard {2}ready\n\d\d:\d\d:\d\d {2}porch {2}ready\n/)
  })
})

describe('video-pipeline-service snapshot', () => {
  it('writes a picture to a file, and none to a terminal', async () => {
    await playGate()
    const file = join(temporaryDataDir(), 'gate.jpg')
    const { status, stdout } = await run(`snapshot gate -o ${file} --width 160 --json`)
    const content = readFileSync(file)
    expect([status, JSON.parse(stdout), [...content.subarray(0, 3)]]).toMatchObject([
      0,
      { file, size_bytes: content.length },
      [0xff, 0xd8, 0xff],
    ])
    const refused = { status: 2, stdout: expect.stringContaining('Use -o FILE') }
    for (const more of ['', ' -o -']) expect(await terminal(`snapshot gate${more}`, 100)).toMatchObject(refused)
    const away = await run('snapshot gate -o /nowhere/gate.jpg')
    expect(away).toMatchObject({ status: 1, stderr: expect.stringContaining('cannot be written: its folder does not exist.') })
  })
})

describe('the exit code', () => {
  it.each<[string, number, string]>([
    ['ls --nope', 2, "Unknown option '--nope'"],
    ['ls --jsno', 2, "Unknown option '--jsno'. Did you mean --json?"],
    ['get', 2, 'get ID'],
    ['ls --state broken', 2, 'ready, playing'],
    ['ls --url localhost:8080', 2, 'http://127.0.0.1:8080'],
    ['ls --url http://user:pass@127.0.0.1', 2, 'SVC_API_KEY'],
    ['ls --api-key @/nowhere', 2, '/nowhere'],
    ['get nobody', 3, 'nobody'],
    ['events nobody', 3, 'nobody'],
    ['snapshot yard -o -', 1, 'yard'],
    ['ls --url http://127.0.0.1:1', 1, 'No service answers at http://127.0.0.1:1/'],
  ])('of %s is %i', async (line, status, says) => {
    expect(await run(line)).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(says) })
  })

  it('comes with an error for programs', async () => {
    const message = expect.stringContaining('No pipeline has the id nobody.')
    expect(JSON.parse((await run('get nobody --json')).stderr)).toEqual({ code: 'NOT_FOUND', status: 404, message, details: {} })
  })

  it('is that of success when the reader of the output leaves', async () => {
    const piped = await runProgram('bash', ['-c', 'set -o pipefail; "$0" dist/cli.js ls --json | head -c 1', process.execPath], {
      env: environment(),
    })
    expect(piped).toMatchObject({ status: 0, stdout: '[', stderr: '' })
  })
})

describe('the help of a command', () => {
  it('fits into 80 columns', async () => {
    const texts = (Object.keys(VERBS) as VerbName[]).map(helpOf)
    expect(
      texts
        .join('\n')
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([])
    expect(await run('play --help')).toMatchObject({ status: 0, stdout: helpOf('play') })
  })
})

describe('the API key', () => {
  it('comes from the data directory of a service on this host, the environment or a file', async () => {
    const key = readFileSync(join(service.dataDir, 'api-key'), 'utf8').trim()
    const headers = { 'x-api-key': key }
    const elsewhere = { SVC_DATA_DIR: '/nowhere' }
    await service.request('PUT', '/svc/auth/password', { password: 'correct horse' }, headers)
    try {
      expect((await run('ls -q')).stdout).toBe('yard\n')
      expect(await run('ls', { env: elsewhere })).toMatchObject({ status: 4, stderr: expect.stringContaining('SVC_API_KEY') })
      expect((await run('ls', { env: { ...elsewhere, SVC_API_KEY: key } })).status).toBe(0)
      for (const given of [key, `@${service.dataDir}/api-key`])
        expect((await run(`ls --api-key ${given}`, { env: elsewhere })).status).toBe(0)
      const stderr = expect.stringContaining('The API key is wrong. Set SVC_API_KEY')
      expect(await run('ls --api-key wrong')).toMatchObject({ status: 4, stdout: '', stderr })
    } finally {
      await service.request('DELETE', '/svc/auth/password', undefined, headers)
    }
  })

  it('does not stay in the arguments of the process', async () => {
    // Its first line shows that it has read its arguments.
    const script =
      'exec 3< <("$0" dist/cli.js events --api-key sixteen-letters-or-more); p=$!; read -r line <&3; ' +
      'tr "\\0" " " </proc/$p/cmdline; kill -INT $p; wait $p'
    const { status, stdout } = await runProgram('bash', ['-c', script, process.execPath], { env: environment() })
    expect([status, stdout]).toEqual([0, expect.stringContaining('video-pipeline-service')])
    expect(stdout).not.toContain('sixteen-letters')
  })
})

/** Completes the last word of a line as bash would; prints the candidates. */
const IN_BASH = (line: string): string => `
  source <("$NODE" dist/cli.js completion bash)
  video-pipeline-service() { "$NODE" dist/cli.js "$@"; }
  compopt() { :; }
  COMP_WORDS=(${line})
  COMP_CWORD=$(($\{#COMP_WORDS[@]} - 1))
  _video_pipeline_service
  printf '%s\\n' "$\{COMPREPLY[@]}"`

describe('completion', () => {
  it.each([
    ['sn', ['snapshot']],
    ['ls --w', ['--watch']],
    ['ls --state ""', ['ready', 'playing']],
    ['play ""', ['yard']],
    ['snapshot gate -o tsconf', ['tsconfig.json']],
  ])('completes %s in bash', async (line, candidates) => {
    const script = IN_BASH(`video-pipeline-service ${line}`)
    const { stdout } = await runProgram('bash', ['-c', script], { env: { ...environment(), NODE: process.execPath } })
    expect(stdout.trimEnd().split('\n')).toEqual(candidates)
  })

  it('has a script for each of the shells, and no other', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) expect((await run(`completion ${shell}`)).stdout).toContain('__complete')
    expect(await run('completion tcsh')).toMatchObject({ status: 2, stderr: expect.stringContaining('bash, zsh, fish') })
  })
})
