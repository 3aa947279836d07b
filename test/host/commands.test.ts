import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type CommandOptions, runCommand, runInTerminal, runProgram } from '../helpers/process/command.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'

const SOURCE = { uri: 'test://ball?width=320&height=240' }
const HIDDEN = { uri: 'rtsp://viewer:s3cret@127.0.0.1:9/stream' }

let service: Service
let dataDir: string

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'commands-'))
  service = await startService({ dataDir })
})

afterAll(async () => {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

beforeEach(async () => {
  const { body } = await service.request('GET', '/svc/pipeline')
  for (const { id } of body as readonly { readonly id: string }[]) {
    await service.request('PUT', `/svc/pipeline/${id}/stop`)
    await service.request('DELETE', `/svc/pipeline/${id}`)
  }
  await service.request('POST', '/svc/pipeline', { id: 'gate', mode: 'simple', source: SOURCE })
  await service.request('POST', '/svc/pipeline', { id: 'yard', mode: 'simple', on_demand: true, source: HIDDEN })
})

const environment = () => ({ SVC_URL: service.url, SVC_DATA_DIR: dataDir })

const run = (args: readonly string[], options: CommandOptions = {}) =>
  runCommand(args, { ...options, env: { ...environment(), ...options.env } })

const terminal = (args: readonly string[], columns: number, options: CommandOptions = {}) =>
  runInTerminal(args, columns, { ...options, env: { ...environment(), ...options.env } })

// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences of a terminal begin with one
const withoutSequences = (text: string): string => text.replace(/\u001b\[[?\d;]*[A-Za-z]/g, '')

describe('video-pipeline-service ls', () => {
  it('prints a table whose columns a script can split', async () => {
    const { status, stdout } = await run(['ls'])
    expect(status).toBe(0)
    const [head = '', ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect([...head].slice(0, 5)).toEqual(['ID', 'STATE', 'FOR', 'SOURCE', 'OUTPUT'])
    expect(rows.map(([id, state, , source]) => [id, state, source])).toEqual([
      ['gate', 'playing', SOURCE.uri],
      ['yard', 'ready', 'rtsp://***@127.0.0.1:9/stream'],
    ])
    expect(rows[0]?.[4]).toMatch(/^rtsp:\/\/127\.0\.0\.1:\d+\/gate$/)
  })

  it('prints what the API answers with --json, ids with --quiet, and only what is asked for', async () => {
    const { stdout } = await run(['ls', '--json', '--state', 'playing'])
    expect(JSON.parse(stdout)).toMatchObject([{ id: 'gate', state: 'playing', source: SOURCE }])
    expect((await run(['ls', '-q'])).stdout).toBe('gate\nyard\n')
    expect((await run(['ls', '--quiet', '--state=ready'])).stdout).toBe('yard\n')
  })

  it.each([60, 80, 100, 140])('fits into a terminal of %s columns, in color', async (columns) => {
    const { stdout } = await terminal(['ls'], columns)
    expect(stdout).toContain('\u001b[32m● playing\u001b[0m')
    const lines = withoutSequences(stdout).trimEnd().split(/\r?\n/)
    expect(lines).toHaveLength(3)
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(columns)
  })

  it('leaves color out where NO_COLOR is set', async () => {
    const { stdout } = await terminal(['ls'], 100, { env: { NO_COLOR: '1' } })
    expect(stdout).toContain('● playing')
    expect(stdout).not.toContain('\u001b[3')
  })

  it('watches: draws over itself on a terminal, prints a table for each change elsewhere', async () => {
    const drawn = await terminal(['ls', '--watch'], 100, { until: (text) => text.includes('\u001b[3A') })
    expect(drawn.status).toBe(0)
    expect(drawn.stdout.trimEnd().endsWith('\u001b[?25h')).toBe(true)
    const stopped = run(['ls', '--watch', '--json'], { until: (text) => text.includes('"state":"ready","source":{"uri":"test') })
    await service.request('PUT', '/svc/pipeline/gate/stop')
    const { status, stdout } = await stopped
    const [last] = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as readonly { readonly state: string }[]
    expect([status, last?.state]).toEqual([0, 'ready'])
  })
})

describe('video-pipeline-service get', () => {
  it('shows every field of a pipeline', async () => {
    const { stdout } = await run(['get', 'gate'])
    expect(stdout).toMatch(/^gate {2}playing\n/)
    const { body } = await service.request('GET', '/svc/pipeline/gate')
    for (const field of Object.keys(body.runtime)) expect(stdout).toMatch(new RegExp(`^  runtime\\.${field}`, 'm'))
    expect(stdout).toMatch(/created_at +\S+Z \(\d+ s ago\)/)
  })
})

describe('video-pipeline-service play, stop, delete', () => {
  it('do so with several pipelines and say what they reached', async () => {
    expect(await run(['stop', 'gate'])).toEqual({ status: 0, stdout: 'gate  ready\n', stderr: '' })
    const { status, stdout } = await run(['play', 'gate'])
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^gate {2}playing {2}rtsp:\/\/127\.0\.0\.1:\d+\/gate\n$/)])
    expect(await run(['delete', 'yard'])).toMatchObject({ status: 0, stdout: 'yard  deleted\n' })
  })

  it('fail for those that cannot, and go on with the others', async () => {
    const { status, stdout, stderr } = await run(['stop', 'nobody', 'gate'])
    expect([status, stdout, stderr]).toEqual([
      3,
      'gate  ready\n',
      'nobody  No pipeline has the id nobody. Run `ls` to see the pipelines.\n',
    ])
  })

  it('do not delete what runs unless --force stops it first', async () => {
    const refused = await run(['delete', 'gate'])
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining('--force') })
    expect(await run(['delete', 'gate', '--force', '--json'])).toMatchObject({ status: 0, stdout: '{"id":"gate","deleted":true}\n' })
  })

  it('show on a terminal what they wait for, and why it did not start', async () => {
    await service.request('PUT', '/svc/settings', { start_timeout_seconds: 2 })
    const { status, stdout } = await terminal(['play', 'yard'], 100)
    expect(status).toBe(1)
    expect(stdout).toContain('yard starting … 1.')
    expect(withoutSequences(stdout)).toMatch(/✗ yard {2}The pipeline did not start within 2 s/)
    expect(stdout).not.toContain('s3cret')
  })
})

describe('video-pipeline-service events', () => {
  it('follows one pipeline until Ctrl-C', async () => {
    const following = run(['events', 'gate', '--json'], { until: (text) => text.includes('"phase":"idle"') })
    await service.request('PUT', '/svc/pipeline/gate/stop')
    const { status, stdout } = await following
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect([status, events.at(-1)]).toMatchObject([
      0,
      { id: expect.any(String), event: 'pipeline_status', data: { id: 'gate', state: 'ready' } },
    ])
  })

  it('has a line for each event of all pipelines', async () => {
    const { stdout } = await run(['events'], { until: (text) => text.includes('yard') })
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d {2}gate {2}playing\n\d\d:\d\d:\d\d {2}yard {2}ready\n/)
  })
})

describe('video-pipeline-service snapshot', () => {
  it('writes a picture to a file', async () => {
    const file = join(temporaryDataDir(), 'gate.jpg')
    const { status, stdout } = await run(['snapshot', 'gate', '-o', file, '--width', '160', '--json'])
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { file, size_bytes: readFileSync(file).length }])
    expect(readFileSync(file).subarray(0, 3)).toEqual(Buffer.from([0xff, 0xd8, 0xff]))
  })

  it.each([[[]], [['-o', '-']]])('writes none to a terminal: %j', async (more) => {
    expect(await terminal(['snapshot', 'gate', ...more], 100)).toMatchObject({ status: 2, stdout: expect.stringContaining('Use -o FILE') })
  })
})

describe('Ctrl-C', () => {
  it('ends a wait, and says that the service goes on', async () => {
    const { status, stdout } = await terminal(['play', 'yard'], 100, { until: (text) => text.includes('starting') })
    expect([status, withoutSequences(stdout)]).toEqual([1, expect.stringContaining('✗ yard  Interrupted. The service may still complete')])
    await service.request('PUT', '/svc/pipeline/yard/stop')
  })
})

describe('the exit code', () => {
  it.each<[readonly string[], number, string]>([
    [['ls', '--nope'], 2, "Unknown option '--nope'"],
    [['get'], 2, 'get ID'],
    [['ls', '--state', 'broken'], 2, 'ready, playing'],
    [['ls', '--url', 'localhost:8080'], 2, 'http://127.0.0.1:8080'],
    [['ls', '--url', 'http://user:pass@127.0.0.1'], 2, 'SVC_API_KEY'],
    [['ls', '--api-key', '@/nowhere'], 2, '/nowhere'],
    [['get', 'nobody'], 3, 'nobody'],
    [['events', 'nobody'], 3, 'nobody'],
    [['snapshot', 'yard', '-o', '-'], 1, 'yard'],
    [['snapshot', 'gate', '-o', '/nowhere/gate.jpg'], 1, '/nowhere/gate.jpg cannot be written: its folder does not exist.'],
    [['ls', '--url', 'http://127.0.0.1:1'], 1, 'No service answers at http://127.0.0.1:1/'],
  ])('of %j is %i', async (args, status, says) => {
    expect(await run(args)).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(says) })
  })

  it('comes with an error for programs', async () => {
    const { stderr } = await run(['get', 'nobody', '--json'])
    expect(JSON.parse(stderr)).toEqual({
      code: 'NOT_FOUND',
      status: 404,
      message: expect.stringContaining('No pipeline has the id nobody.'),
      details: {},
    })
  })

  it('is that of success for --help, and when the reader of the output leaves', async () => {
    expect(await run(['play', '--help'])).toMatchObject({ status: 0, stdout: expect.stringContaining('play ID... [options]') })
    const piped = await runProgram('bash', ['-c', 'set -o pipefail; "$0" "$1" ls --json | head -c 1', process.execPath, 'dist/cli.js'], {
      env: environment(),
    })
    expect(piped).toMatchObject({ status: 0, stdout: '[', stderr: '' })
  })
})

describe('the API key', () => {
  it('comes from the data directory of a service on this host, the environment or a file', async () => {
    const key = readFileSync(join(dataDir, 'api-key'), 'utf8').trim()
    const headers = { 'x-api-key': key }
    await service.request('PUT', '/svc/auth/password', { password: 'correct horse' }, headers)
    try {
      expect((await run(['ls', '-q'])).stdout).toBe('gate\nyard\n')
      const elsewhere = { SVC_DATA_DIR: '/nowhere' }
      const refused = await run(['ls', '-q'], { env: elsewhere })
      expect(refused).toMatchObject({ status: 4, stderr: expect.stringContaining('SVC_API_KEY') })
      expect((await run(['ls', '-q'], { env: { ...elsewhere, SVC_API_KEY: key } })).status).toBe(0)
      expect((await run(['ls', '-q', '--api-key', key], { env: elsewhere })).status).toBe(0)
      expect((await run(['ls', '-q', '--api-key', `@${dataDir}/api-key`], { env: elsewhere })).status).toBe(0)
      const wrong = await run(['ls', '--api-key', 'wrong'])
      expect(wrong).toMatchObject({ status: 4, stdout: '', stderr: expect.stringContaining('The API key is wrong. Set SVC_API_KEY') })
    } finally {
      await service.request('DELETE', '/svc/auth/password', undefined, headers)
    }
  })

  it('does not stay in the arguments of the process', async () => {
    let seen = ''
    const { status } = await runProgram(
      'bash',
      [
        '-c',
        '"$0" dist/cli.js events --api-key sixteen-letters-or-more & p=$!; sleep 2; tr "\\0" " " </proc/$p/cmdline; kill -INT $p; wait $p',
        process.execPath,
      ],
      {
        env: environment(),
        until: (text) => {
          seen = text
          return false
        },
      },
    )
    expect([status, seen]).toEqual([0, expect.stringContaining('video-pipeline-service')])
    expect(seen).not.toContain('sixteen-letters')
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
  const completed = async (line: string): Promise<readonly string[]> => {
    const { stdout } = await runProgram('bash', ['-c', IN_BASH(line)], { env: { ...environment(), NODE: process.execPath } })
    return stdout.trimEnd().split('\n')
  }

  it('completes commands, options, values and the ids of the service in bash', async () => {
    expect(await completed('video-pipeline-service sn')).toEqual(['snapshot'])
    expect(await completed('video-pipeline-service ls --w')).toEqual(['--watch'])
    expect(await completed('video-pipeline-service ls --state ""')).toEqual(['ready', 'playing'])
    expect(await completed('video-pipeline-service play ""')).toEqual(['gate', 'yard'])
    expect(await completed('video-pipeline-service snapshot gate -o tsconf')).toEqual(['tsconfig.json'])
  })

  it('has a script for each of the shells, and no other', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) expect((await run(['completion', shell])).stdout).toContain('__complete')
    expect(await run(['completion', 'tcsh'])).toMatchObject({ status: 2, stderr: expect.stringContaining('bash, zsh, fish') })
  })
})
