/**
 * The Debian package in a fresh Debian 12 (debootstrap; as root): installed, run as its units say, upgraded, removed and purged. Needs a
 * mirror of Debian, and takes some minutes.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { until } from '../../helpers/until.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const API = 'http://127.0.0.1:8080'
const system = mkdtempSync(join(tmpdir(), 'debian-'))
// The users of the units go through it.
chmodSync(system, 0o755)
const run = (file: string, ...args: string[]) =>
  execFileSync(file, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const inside = (command: string) => run('chroot', system, 'sh', '-ec', command)
const within = (path: string) => join(system, path)
const contains = (path: string) => existsSync(within(path))
const progress = (line: string) => process.stdout.write(`${line}\n`)

const UNITS = ['video-pipeline-engine', 'video-pipeline-api'] as const

/** Starts the program of a unit as systemd would; there is no systemd in the folder. */
const start = (name: (typeof UNITS)[number]): ChildProcess => {
  const unit = readFileSync(within(`/lib/systemd/system/${name}.service`), 'utf8')
  const field = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(unit)?.[1] ?? assert.fail(`${name} has no ${key}`)
  const variables = `${readFileSync(within(field('EnvironmentFile')), 'utf8')}\n${field('Environment')}`
  const environment = variables.split('\n').filter((line) => /^\w+=/.test(line))
  const command = ['env', '-i', 'PATH=/usr/bin:/bin', ...environment, ...field('ExecStart').replaceAll('"', '').split(' ')]
  return spawn('chroot', [`--userspec=${field('User')}:${field('Group')}`, system, ...command], { stdio: ['ignore', 'ignore', 'inherit'] })
}

const answers = async (path: string, init: RequestInit = {}): Promise<Response | undefined> =>
  fetch(API + path, { ...init, signal: AbortSignal.timeout(20_000) }).catch(() => undefined)

/** Runs both units, calls back while they serve, and stops them. */
const serving = async (work: () => Promise<void>): Promise<void> => {
  const programs = UNITS.map(start)
  try {
    await until(
      () => answers('/svc/health'),
      (response) => response?.status === 200,
    )
    await work()
  } finally {
    for (const program of programs.toReversed()) {
      const exited = program.exitCode !== null || once(program, 'exit')
      program.kill('SIGTERM')
      await exited
    }
  }
}

const pipelines = async () => (await answers('/svc/pipeline'))?.json()

const install = (file: string): void => {
  copyFileSync(resolve(ROOT, file), within('/tmp/service.deb'))
  inside('DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /tmp/service.deb gstreamer1.0-plugins-ugly')
}

try {
  progress('making the package and the system')
  const file = run('npm', 'run', '-s', 'deb').trim()
  run('debootstrap', '--variant=minbase', 'bookworm', system)
  run('mount', '-t', 'proc', 'proc', within('/proc'))
  run('mount', '--rbind', '/dev', within('/dev'))
  inside('apt-get update -qq')

  progress('installing')
  install(file)
  const keys = readFileSync(within('/etc/video-pipeline-service/api.env'), 'utf8')
  for (const name of UNITS) assert.ok(inside(`ls /etc/systemd/system/multi-user.target.wants`).includes(`${name}.service`))
  assert.match(inside('video-pipeline-service --version'), /^\d/)
  await serving(async () => {
    const body = JSON.stringify({ id: 'gate', source: { uri: 'test://ball' } })
    const created = await answers('/svc/pipeline', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    assert.equal(created?.status, 201)
  })

  progress('upgrading')
  writeFileSync(within('/etc/video-pipeline-service/api.env'), `${keys}SVC_LOG_LEVEL=warn\n`)
  inside(`mkdir /tmp/new && dpkg-deb -R /tmp/service.deb /tmp/new && sed -i 's/^Version: .*/Version: 99.0.0/' /tmp/new/DEBIAN/control`)
  inside('dpkg-deb -Znone --build /tmp/new /tmp/new.deb && apt-get install -y -qq /tmp/new.deb')
  assert.equal(readFileSync(within('/etc/video-pipeline-service/api.env'), 'utf8'), `${keys}SVC_LOG_LEVEL=warn\n`)
  await serving(async () => assert.equal((await pipelines())[0].id, 'gate'))

  progress('removing and purging')
  inside('apt-get remove -y -qq video-pipeline-service')
  assert.deepEqual([contains('/usr/lib/video-pipeline-service'), contains('/etc/video-pipeline-service/api.env')], [false, true])
  assert.ok(!inside('ls /etc/systemd/system/multi-user.target.wants').includes('video-pipeline'))
  inside('apt-get purge -y -qq video-pipeline-service')
  assert.ok(!readFileSync(within('/etc/passwd'), 'utf8').includes('video-pipeline'))
  for (const path of ['/etc/video-pipeline-service', '/var/lib/video-pipeline-service', '/usr/bin/video-pipeline-service'])
    assert.ok(!contains(path), path)
  progress('the package does all that')
} finally {
  for (const path of ['/proc', '/dev']) execFileSync('sh', ['-c', `umount -R -l '${within(path)}' 2> /dev/null || true`])
  rmSync(system, { recursive: true, force: true })
}
