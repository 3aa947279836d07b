import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HOST_COMMANDS, type HostCommand, type HostCommandName } from '../../../handlers/cli/command-line/verbs.ts'
import { CONFIGURATION_VARIABLES } from '../../../lib/configuration/configuration.ts'
import { ENGINE_OPTIONS } from '../../../lib/engine/program-options.ts'
import packageJson from '../../../package.json' with { type: 'json' }
import { temporaryDataDir } from '../../helpers/process/temporary-data-dir.ts'
import { until } from '../../helpers/until.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const COMMAND = join(ROOT, 'dist/cli.js')

const runProgram = (program: string, args: readonly string[], env: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, SVC_DATA_DIR: join(tmpdir(), 'nothing-here'), ...env },
  })
  return { status, stdout, stderr }
}
const run = (args: readonly string[], env?: Record<string, string>) => runProgram(process.execPath, [COMMAND, ...args], env)

interface Report {
  readonly status: string
  readonly findings: readonly { readonly name: string; readonly status: string; readonly message: string }[]
  readonly packages: readonly string[]
}

describe('video-pipeline-service doctor', () => {
  const doctor = (env: Record<string, string> = {}) => {
    // Fewer files than a service needs.
    const limited = 'ulimit -n 1000; exec "$0" "$@"'
    const { status, stdout } = runProgram('sh', ['-c', limited, process.execPath, COMMAND, 'doctor', '--json'], { SVC_PORT: '0', ...env })
    const report = JSON.parse(stdout) as Report
    return { status, report, find: (name: string) => report.findings.find((finding) => finding.name === name) }
  }

  it('finds all that the tests need on this host', () => {
    const { status, report, find } = doctor()
    expect([status, report.status === 'failed']).toEqual([0, false])
    expect(find('GStreamer')).toMatchObject({ status: 'ok', message: expect.stringMatching(/^1\.\d+/) })
    expect(find('encoder x264enc')).toEqual({ name: 'encoder x264enc', status: 'ok', message: 'software h264, encodes' })
    expect(find('encoder x265enc')?.status).toBe('ok')
    expect(find('elements')).toMatchObject({ status: 'ok', message: expect.stringMatching(/^(\d{2}) of \1 are installed$/) })
    expect(find('open files')).toMatchObject({ status: 'warning', message: '1000 per process' })
  })

  it('names the packages that are missing, and fails', () => {
    const bare = temporaryDataDir()
    for (const program of ['setpriv', 'sh']) symlinkSync(execFileSync('which', [program], { encoding: 'utf8' }).trim(), join(bare, program))
    const { stdout, status } = run(['doctor'], { PATH: bare, SVC_PORT: '0' })
    const packages = [
      'bubblewrap',
      ...['libav', 'plugins-bad', 'plugins-base', 'plugins-base-apps', 'plugins-good', 'plugins-ugly', 'tools'].map(
        (name) => `gstreamer1.0-${name}`,
      ),
      'libgstreamer1.0-0',
      'v4l-utils',
    ]
    expect([status, stdout]).toEqual([1, expect.stringContaining(`apt-get install -y --no-install-recommends ${packages.join(' ')}`)])
    const { report, find } = doctor({ PATH: bare })
    expect([report.status, report.packages]).toEqual(['failed', packages])
    expect([find('program gst-launch-1.0')?.status, find('program v4l2-ctl')?.status]).toEqual(['failed', 'warning'])
  })

  it('finds a port in use, a damaged database, an invalid license, and a certificate that cannot be used', async () => {
    const dataDir = temporaryDataDir()
    for (const name of ['service.db', 'license']) writeFileSync(join(dataDir, name), 'x'.repeat(4096))
    const none = join(dataDir, 'none.pem')
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const env = { SVC_LICENSE_FILE: join(dataDir, 'license'), SVC_OUTPUT_TLS_CERT: none, SVC_OUTPUT_TLS_KEY: none }
    const { report } = doctor({ SVC_DATA_DIR: dataDir, SVC_PORT: String(port), ...env })
    taken.close()
    expect(Object.fromEntries(report.findings.map(({ name, status, message }) => [name, [status, message]]))).toMatchObject({
      'port of the API': ['warning', expect.stringContaining('EADDRINUSE')],
      database: ['failed', expect.stringContaining(`${join(dataDir, 'service.db')} is damaged or not a database`)],
      license: ['warning', expect.stringMatching(/cannot be used \(.*JSON/)],
      'certificate of outputs': ['failed', expect.stringContaining('none.pem')],
    })
  })

  it('finds the service itself at the port of the API', async () => {
    const program = `require('node:http').createServer((_, response) => response.end('{"name":"video-pipeline-service"}'))
      .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`
    const service = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(async () => {
      service.kill()
      await once(service, 'exit')
    })
    const [port] = (await once(service.stdout, 'data')) as [Buffer]
    expect(doctor({ SVC_PORT: port.toString().trim() }).find('port of the API')).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/runs$/),
    })
  })

  it('finds an invalid variable, a full disk and a database of a newer program, and changes nothing there', async () => {
    expect(doctor({ SVC_PORT: 'x' })).toMatchObject({ status: 1, report: { status: 'failed' } })
    const dataDir = temporaryDataDir()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', dataDir])
    onTestFinished(() => void execFileSync('umount', ['--lazy', dataDir]))
    const client = createClient({ url: `file:${join(dataDir, 'service.db')}` })
    await client.execute('CREATE TABLE schema_migrations (version INTEGER, name TEXT, applied_at INTEGER)')
    await client.execute("INSERT INTO schema_migrations VALUES (99, 'of a newer program', 0)")
    client.close()
    // The first bytes of the file say how it is written: then with a write-ahead log.
    const content = () => readFileSync(join(dataDir, 'service.db')).subarray(100)
    const before = content()
    const { find } = doctor({ SVC_DATA_DIR: dataDir })
    expect(find('database')).toMatchObject({ status: 'failed', message: expect.stringContaining('version 99') })
    expect([find('disk')?.status, content().equals(before)]).toEqual(['failed', true])
  })
})

describe('video-pipeline-service', () => {
  it('prints the OpenAPI document, also to a reader that leaves early', () => {
    expect(JSON.parse(run(['openapi']).stdout)).toMatchObject({ openapi: '3.1.0', paths: { '/svc/pipeline': { post: {} } } })
    const early = runProgram('bash', ['-c', `set -o pipefail; "${process.execPath}" "${COMMAND}" openapi | head -c 1`])
    expect(early).toEqual({ status: 0, stdout: '{', stderr: '' })
  })

  it.each(Object.entries(HOST_COMMANDS as Record<HostCommandName, HostCommand>))(
    'prints within 80 columns what %s does, and does nothing',
    (name, { about, options = {} }) => {
      const { status, stdout } = run([name, '--help'])
      expect([status, stdout.split('\n').filter((line) => line.length > 80)]).toEqual([0, []])
      // The help of serve is the list of variables.
      if (name === 'serve') return expect(stdout).toContain('SVC_PORT')
      expect(stdout).toMatch(new RegExp(`^usage: video-pipeline-service ${name}\\b.*\n\n${about}\n`))
      for (const [option, meaning] of Object.entries(options)) expect(stdout).toMatch(new RegExp(`^  ${option} +${meaning}$`, 'm'))
    },
  )

  it('prints its help, its version, and the help of a command that follows', () => {
    const { stdout } = run(['--help'])
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect(stdout).toContain('--version prints the version')
    expect(run(['--version'])).toMatchObject({ status: 0, stdout: `${packageJson.version}\n` })
    for (const name of ['serve', 'ls']) expect(run(['help', name])).toMatchObject({ status: 0, stdout: run([name, '--help']).stdout })
    // For npx in a clone.
    expect(execFileSync(join(ROOT, 'node_modules/.bin/video-pipeline-service'), ['--version']).toString()).toBe(`${packageJson.version}\n`)
  })

  it.each([
    ['engine', '--bogus'],
    ['openapi', 'file'],
    ['install', '--root', '/', 'file'],
    ['uninstall', '--forced'],
  ])('refuses an unknown argument of %s: %s %s %s', (...args) => {
    const stderr = `video-pipeline-service ${args[0]}: unknown argument ${args.at(-1)}; use --help for a list\n`
    expect(run(args)).toMatchObject({ status: 64, stdout: '', stderr })
  })

  it.each([
    [['explode'], 'unknown command explode; use --help for a list'],
    [['doctr'], 'unknown command doctr; did you mean doctor?'],
  ])('refuses an unknown command: %s', (args, message) => {
    expect(run(args)).toMatchObject({ status: 64, stderr: `video-pipeline-service: ${message}\n` })
  })
})

describe('video-pipeline-service serve', () => {
  const serve = (args: readonly string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(ROOT, 'dist/node.js'), ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      encoding: 'utf8',
      timeout: 20_000,
    })

  it('serves until SIGTERM', async () => {
    const env = { ...process.env, SVC_PORT: '0', SVC_DATA_DIR: temporaryDataDir() }
    const child = spawn(COMMAND, ['serve'], { stdio: ['ignore', 'ignore', 'pipe'], env })
    const exited = once(child, 'exit')
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
    })
    await expect.poll(() => log).toContain('"event":"service_ready"')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })

  it('lists every variable with its default for --help, and exits with 64 for an unknown argument', () => {
    const { status, stdout, stderr } = serve(['--help'])
    expect([status, stderr]).toEqual([0, ''])
    const text = stdout.replace(/\s+/g, ' ')
    for (const { name, shown, about } of CONFIGURATION_VARIABLES) {
      expect(stdout).toMatch(new RegExp(`^ +${name} .*`, 'm'))
      expect(text).toContain(`${about} (default: ${shown})`)
    }
    const unknown = serve(['--prot', '80'])
    const message = 'video-pipeline-service: unknown argument --prot; use --help for a list\n'
    expect([unknown.status, unknown.stderr]).toEqual([64, message])
  })

  it('exits with 78 and one line for each mistake of the configuration, without secrets, before any file is written', () => {
    const dataDir = join(temporaryDataDir(), 'not-made')
    const wrong = { SVC_PORT: '80800', SVC_API_KEY: 'too short', SVC_PROFILE: 'doc', SVC_DATABASE_URL: 'mysql://user:hunter2@db' }
    const { status, stdout, stderr } = serve([], { ...wrong, SVC_DATA_DIR: dataDir })
    const named = stderr
      .trimEnd()
      .split('\n')
      .map((line) => /^video-pipeline-service: (\w+)/.exec(line)?.[1])
    expect([status, stdout, named.sort()]).toEqual([78, '', Object.keys(wrong).sort()])
    expect(stderr).not.toMatch(/too short|hunter2|\bat .*:\d/)
    expect(existsSync(dataDir)).toBe(false)
    const twice = serve([], { SVC_PROFILE: 'docs', SVC_PORT: '8081' })
    expect([twice.status, twice.stderr]).toEqual([78, 'video-pipeline-service: SVC_DOCS_PORT=8081: use another port than SVC_PORT\n'])
  })
})

describe('video-pipeline-service engine', () => {
  it('runs with the options of Node.js that the engine needs, as the process that was started', async () => {
    const file = join(temporaryDataDir(), 'engine.json')
    const env = {
      ...process.env,
      SVC_DATA_DIR: join(file, '..'),
      SVC_ENGINE_LISTEN: '127.0.0.1:0',
      SVC_ENGINE_TOKEN: 'a-secret-of-this-test',
    }
    const engine = spawn(process.execPath, [COMMAND, 'engine'], { stdio: 'ignore', env })
    const ended = once(engine, 'exit')
    await until(() => existsSync(file), Boolean)
    const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number }
    expect(pid).toBe(engine.pid)
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toEqual(expect.arrayContaining([...ENGINE_OPTIONS]))
    engine.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })
})
