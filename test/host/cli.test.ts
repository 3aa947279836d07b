import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createClient } from '@libsql/client/sqlite3'
import { describe, expect, it, onTestFinished } from 'vitest'
import { USED_ELEMENTS } from '../../engine/deploy/doctor/gstreamer.ts'
import { HOST_COMMANDS, type HostCommand, type HostCommandName, VERBS } from '../../handlers/cli/command-line/verbs.ts'
import { ENGINE_OPTIONS } from '../../lib/engine/program-options.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { temporaryDataDir } from '../helpers/process/temporary-data-dir.ts'
import { until } from '../helpers/until.ts'

const COMMAND = resolve(import.meta.dirname, '../../dist/cli.js')

const run = (args: readonly string[], env: Record<string, string> = {}) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
    encoding: 'utf8',
    env: { ...process.env, SVC_DATA_DIR: join(tmpdir(), 'nothing-here'), ...env },
  })
  return { status, stdout, stderr }
}

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** What an engine has written into its data directory. */
const announced = (dataDir: string): { readonly pid: number } | undefined => {
  const file = join(dataDir, 'engine.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

interface Report {
  readonly status: string
  readonly findings: readonly { readonly name: string; readonly status: string; readonly message: string }[]
  readonly packages: readonly string[]
}

const doctor = (env: Record<string, string> = {}) => {
  const { status, stdout } = run(['doctor', '--json'], env)
  const report = JSON.parse(stdout) as Report
  return { status, report, find: (name: string) => report.findings.find((finding) => finding.name === name) }
}

describe('video-pipeline-service doctor', () => {
  it('finds all that the tests need on this host', () => {
    const { status, report, find } = doctor({ SVC_PORT: '0' })
    expect([status, report.status === 'failed']).toEqual([0, false])
    expect(find('GStreamer')).toMatchObject({ status: 'ok', message: expect.stringMatching(/^1\.\d+/) })
    expect(find('encoder x264enc')).toEqual({ name: 'encoder x264enc', status: 'ok', message: 'software h264, encodes' })
    expect(find('encoder x265enc')?.status).toBe('ok')
    // Every element of every launch line: no other name compiles.
    const count = Object.keys(USED_ELEMENTS).length
    expect(find('elements')).toMatchObject({ status: 'ok', message: `${count} of ${count} are installed` })
  })

  it('names the packages that are missing, and fails', () => {
    const bare = temporaryFolder()
    symlinkSync(execFileSync('which', ['setpriv'], { encoding: 'utf8' }).trim(), join(bare, 'setpriv'))
    const { status, report, find } = doctor({ PATH: bare, SVC_PORT: '0' })
    expect([status, report.status]).toEqual([1, 'failed'])
    expect(find('program gst-launch-1.0')).toMatchObject({ status: 'failed' })
    expect(find('program v4l2-ctl')).toMatchObject({ status: 'warning' })
    expect(report.packages).toEqual(['bubblewrap', 'gstreamer1.0-plugins-base-apps', 'gstreamer1.0-tools', 'v4l-utils'])
    const text = run(['doctor'], { PATH: bare, SVC_PORT: '0' }).stdout
    expect(text).toContain(
      'sudo apt-get install -y --no-install-recommends bubblewrap gstreamer1.0-plugins-base-apps gstreamer1.0-tools v4l-utils',
    )
  })

  it('reports a port in use and an invalid variable', async () => {
    const { createServer } = await import('node:net')
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? String(address.port) : ''
    expect(doctor({ SVC_PORT: port }).find('port of the API')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('EADDRINUSE'),
    })
    taken.close()
    expect(doctor({ SVC_PORT: 'x' })).toMatchObject({ status: 1, report: { status: 'failed' } })
  })

  it('finds a damaged database, an invalid license, a certificate that cannot be used and a low limit of open files', () => {
    const dataDir = temporaryDataDir()
    for (const name of ['service.db', 'license']) writeFileSync(join(dataDir, name), 'x'.repeat(4096))
    const none = join(dataDir, 'none.pem')
    const env = { SVC_LICENSE_FILE: join(dataDir, 'license'), SVC_OUTPUT_TLS_CERT: none, SVC_OUTPUT_TLS_KEY: none }
    const { stdout } = spawnSync('sh', ['-c', 'ulimit -n 1000; exec "$0" "$@"', process.execPath, COMMAND, 'doctor', '--json'], {
      encoding: 'utf8',
      env: { ...process.env, SVC_DATA_DIR: dataDir, SVC_PORT: '0', ...env },
    })
    const { findings } = JSON.parse(stdout) as Report
    const wrong = Object.fromEntries(findings.map(({ name, status, message }) => [name, [status, message]]))
    expect(wrong).toMatchObject({
      database: ['failed', expect.stringMatching(new RegExp(`^${join(dataDir, 'service.db')} is damaged or not a database`))],
      license: ['warning', expect.stringMatching(/cannot be used \(.*JSON/)],
      'certificate of outputs': ['failed', expect.stringContaining('none.pem')],
      'open files': ['warning', '1000 per process'],
    })
  })

  it('finds a full disk and a database of a newer program, and changes nothing there', async () => {
    const dataDir = temporaryDataDir()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', dataDir])
    onTestFinished(() => void execFileSync('umount', ['--lazy', dataDir]))
    const client = createClient({ url: `file:${join(dataDir, 'service.db')}` })
    await client.execute('CREATE TABLE schema_migrations (version INTEGER, name TEXT, applied_at INTEGER)')
    await client.execute("INSERT INTO schema_migrations VALUES (99, 'of a newer program', 0)")
    client.close()
    const before = readFileSync(join(dataDir, 'service.db'))
    const { find } = doctor({ SVC_DATA_DIR: dataDir, SVC_PORT: '0' })
    expect(find('database')).toMatchObject({ status: 'failed', message: expect.stringContaining('version 99') })
    expect(find('disk')).toMatchObject({ status: 'failed' })
    // The first bytes of the file say how it is written: now with a write-ahead log.
    expect(readFileSync(join(dataDir, 'service.db')).subarray(100).equals(before.subarray(100))).toBe(true)
  })
})

const ENVIRONMENTS = ['etc/video-pipeline-service/api.env', 'etc/video-pipeline-service/engine.env']
const UNITS = ['etc/systemd/system/video-pipeline-engine.service', 'etc/systemd/system/video-pipeline-api.service']

const variables = (file: string): Record<string, string> =>
  Object.fromEntries([...readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]))

describe('video-pipeline-service install', () => {
  it('writes random keys that only root can read, and units that systemd accepts', () => {
    const [root, other] = [temporaryFolder(), temporaryFolder()]
    expect(run(['install', '--root', root])).toMatchObject({ status: 0, stderr: '' })
    run(['install', '--root', other])
    for (const file of ENVIRONMENTS) expect(statSync(join(root, file)).mode & 0o777).toBe(0o600)
    expect(statSync(join(root, 'var/lib/video-pipeline-service/engine')).mode & 0o777).toBe(0o700)
    const [api, engine] = ENVIRONMENTS.map((file) => variables(join(root, file)))
    expect(api?.SVC_API_KEY).toMatch(/^[\w-]{43}$/)
    expect(api?.SVC_ENGINE_TOKEN).toBe(engine?.SVC_ENGINE_TOKEN)
    expect(api?.SVC_API_KEY).not.toBe(variables(join(other, ENVIRONMENTS[0] ?? '')).SVC_API_KEY)
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...UNITS.map((file) => join(root, file))], { encoding: 'utf8' })
    expect(verified.stderr.split('\n').filter((line) => line.includes('video-pipeline'))).toEqual([])
    expect(verified.status).toBe(0)
  })

  it('does not overwrite a changed file; with --force it makes a backup', () => {
    const root = temporaryFolder()
    run(['install', '--root', root])
    const key = variables(join(root, ENVIRONMENTS[0] ?? '')).SVC_API_KEY
    expect(run(['install', '--root', root]).stdout).not.toMatch(/^(write|replace|create)/m)
    const unit = join(root, UNITS[1] ?? '')
    writeFileSync(unit, '# edited by hand\n')
    expect(run(['install', '--root', root])).toMatchObject({ status: 73, stderr: expect.stringContaining('video-pipeline-api.service') })
    expect(readFileSync(unit, 'utf8')).toBe('# edited by hand\n')
    expect(run(['install', '--root', root, '--force'])).toMatchObject({ status: 0 })
    expect(readFileSync(`${unit}.previous`, 'utf8')).toBe('# edited by hand\n')
    expect(variables(join(root, ENVIRONMENTS[0] ?? '')).SVC_API_KEY).toBe(key)
  })

  it('says in one line which step failed', () => {
    const file = join(temporaryFolder(), 'file')
    writeFileSync(file, '')
    const { status, stderr } = run(['install', '--root', file])
    expect([status, stderr]).toEqual([
      71,
      expect.stringMatching(/^video-pipeline-service: ENOTDIR: .*run it again: what is done is kept\n$/),
    ])
  })

  it('gives API and engine a user each, and their data to them, also where they were one user before', () => {
    const { stdout } = run(['install', '--root', temporaryFolder()])
    const commands = [...stdout.matchAll(/^not run, because of --root: (.+)$/gm)].map(([, command]) => command)
    expect(commands).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^useradd --system .* video-pipeline-api$/),
        expect.stringMatching(/^useradd --system .* video-pipeline-engine$/),
        'chown root:root /var/lib/video-pipeline-service',
        'chmod 0711 /var/lib/video-pipeline-service',
        'chown -R video-pipeline-api:video-pipeline-api /var/lib/video-pipeline-service/api',
        'chown -R video-pipeline-engine:video-pipeline-engine /var/lib/video-pipeline-service/engine',
      ]),
    )
  })

  it('creates every group that the unit of the engine names, since systemd starts no unit with one that does not exist', () => {
    const root = temporaryFolder()
    const { stdout } = run(['install', '--root', root])
    const unit = readFileSync(join(root, UNITS[0] ?? ''), 'utf8')
    const groups = (/^SupplementaryGroups=(.+)$/m.exec(unit)?.[1] ?? '').split(' ')
    expect(groups).toEqual(['video', 'render'])
    for (const group of groups) expect(stdout).toContain(`groupadd --system ${group}\n`)
  })

  it('lets the engine make sandboxes, and the API no namespace', () => {
    const root = temporaryFolder()
    run(['install', '--root', root])
    const [engine = '', api = ''] = UNITS.map((file) => readFileSync(join(root, file), 'utf8'))
    expect(engine).toMatch(/^User=video-pipeline-engine$/m)
    expect(engine).toMatch(/^RestrictNamespaces=user mnt pid /m)
    expect(engine).toMatch(/^SystemCallFilter=@system-service @mount$/m)
    // The kernel allows no new /proc where something is mounted over the present one.
    expect(engine).not.toMatch(/^(ProtectKernelTunables|ProtectKernelLogs|ProcSubset|PrivateUsers)=/m)
    expect(api).toMatch(/^User=video-pipeline-api$/m)
    expect(api).toMatch(/^RestrictNamespaces=yes$/m)
    for (const unit of [engine, api]) expect(unit).toMatch(/^StateDirectory=video-pipeline-service\/(api|engine)$/m)
  })

  it('starts both again for as long as it takes, but not with a configuration that is wrong', () => {
    const root = temporaryFolder()
    run(['install', '--root', root])
    for (const file of UNITS) {
      const [head = '', service = ''] = readFileSync(join(root, file), 'utf8').split('[Service]')
      expect(head).toMatch(/^StartLimitIntervalSec=0$/m)
      expect(service).toMatch(/^Restart=on-failure$/m)
      expect(service).toMatch(/^RestartPreventExitStatus=78$/m)
    }
  })

  it('changes nothing with --dry-run', () => {
    const root = temporaryFolder()
    const { status, stdout } = run(['install', '--dry-run', '--root', root])
    expect([status, stdout.includes('would write /etc/video-pipeline-service/api.env (0600)')]).toEqual([0, true])
    expect(spawnSync('find', [root, '-mindepth', '1'], { encoding: 'utf8' }).stdout).toBe('')
    expect(stdout).not.toMatch(/SVC_API_KEY=/)
  })

  it('is undone by uninstall, which keeps keys and data unless --purge is given', () => {
    const root = temporaryFolder()
    run(['install', '--root', root])
    expect(run(['uninstall', '--root', root]).status).toBe(0)
    expect(spawnSync('find', [root, '-type', 'f', '-printf', '%P\n'], { encoding: 'utf8' }).stdout.trim().split('\n').sort()).toEqual(
      ENVIRONMENTS,
    )
    writeFileSync(`${join(root, UNITS[1] ?? '')}.previous`, '# put aside by install --force\n')
    run(['uninstall', '--purge', '--root', root])
    expect(existsSync(`${join(root, UNITS[1] ?? '')}.previous`)).toBe(false)
    expect(spawnSync('find', [root, '-type', 'f'], { encoding: 'utf8' }).stdout).toBe('')
  })
})

describe('video-pipeline-service', () => {
  it('serves until SIGTERM', async () => {
    const dataDir = temporaryDataDir()
    const child = spawn(COMMAND, ['serve'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, SVC_PORT: '0', SVC_DATA_DIR: dataDir },
    })
    let log = ''
    const ready = Promise.withResolvers<void>()
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      if (log.includes('"event":"service_ready"')) ready.resolve()
    })
    const exited = once(child, 'exit')
    await Promise.race([ready.promise, exited])
    expect(log).toContain('"event":"service_ready"')
    child.kill('SIGTERM')
    expect((await exited)[0]).toBe(0)
  })

  it('prints the OpenAPI document', () => {
    expect(JSON.parse(run(['openapi']).stdout)).toMatchObject({ openapi: '3.1.0', paths: { '/svc/pipeline': { post: {} } } })
  })

  it('prints the OpenAPI document to a reader that leaves early', () => {
    const { status, stdout, stderr } = spawnSync(
      'bash',
      ['-c', `set -o pipefail; "${process.execPath}" "${COMMAND}" openapi | head -c 1`],
      {
        encoding: 'utf8',
      },
    )
    expect([status, stdout, stderr]).toEqual([0, '{', ''])
  })

  it.each(['engine', 'doctor', 'openapi', 'install', 'uninstall', 'completion'] as const)(
    'prints what %s does, and does nothing',
    (name) => {
      const { status, stdout } = run([name, '--help'])
      const { about, options = {} }: HostCommand = HOST_COMMANDS[name]
      expect([status, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^usage: video-pipeline-service ${name}\\b.*\n\n${about}\n`))])
      for (const [option, meaning] of Object.entries(options)) expect(stdout).toMatch(new RegExp(`^  ${option} +${meaning}$`, 'm'))
    },
  )

  it.each([[], ...[...Object.keys(HOST_COMMANDS), ...Object.keys(VERBS)].map((name) => [name])])(
    'prints a help for a terminal of 80 columns: %s',
    (...command) => {
      const { status, stdout } = run([...command, '--help'])
      expect(status).toBe(0)
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    },
  )

  it('names in its help how to print the version', () => {
    expect(run(['--help']).stdout).toContain('--version prints the version')
    expect(run(['--version'])).toMatchObject({ status: 0, stdout: `${packageJson.version}\n` })
  })

  it.each(['serve', 'engine', 'ls'])('prints the same with help before the command: %s', (name) => {
    expect(run(['help', name])).toMatchObject({ status: 0, stdout: run([name, '--help']).stdout })
  })

  it.each<[HostCommandName, ...string[]]>([
    ['engine', '--bogus'],
    ['doctor', '--jsno'],
    ['openapi', 'file'],
    ['install', '--dryrun'],
    ['install', '--root', '/', 'file'],
    ['uninstall', '--force'],
  ])('refuses an unknown argument of %s: %s %s %s', (...args) => {
    const [name] = args
    const stderr = `video-pipeline-service ${name}: unknown argument ${args.at(-1)}; use --help for a list\n`
    expect(run(args)).toMatchObject({ status: 64, stdout: '', stderr })
  })

  it('is there for npx in a clone', () => {
    const command = resolve(import.meta.dirname, '../../node_modules/.bin/video-pipeline-service')
    expect(execFileSync(command, ['--version']).toString()).toBe(`${packageJson.version}\n`)
  })

  it('refuses an unknown command', () => {
    expect(run(['explode'])).toMatchObject({
      status: 64,
      stderr: 'video-pipeline-service: unknown command explode; use --help for a list\n',
    })
  })
})

describe('video-pipeline-service engine', () => {
  it('runs with the options of Node.js that the engine needs, as the process that was started', async () => {
    const dataDir = temporaryDataDir()
    const env = { ...process.env, SVC_DATA_DIR: dataDir, SVC_ENGINE_LISTEN: '127.0.0.1:0', SVC_ENGINE_TOKEN: 'a-secret-of-this-test' }
    const engine = spawn(process.execPath, [COMMAND, 'engine'], { stdio: 'ignore', env })
    const ended = once(engine, 'exit')
    const { pid } =
      (await until(
        () => announced(dataDir),
        (engine) => engine !== undefined,
      )) ?? {}
    expect(pid).toBe(engine.pid)
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toEqual(expect.arrayContaining([...ENGINE_OPTIONS]))
    engine.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })
})
