/**
 * The container image, built and run by Podman: upon base images made by debootstrap, so that only a mirror of Debian and npm's registry
 * are asked. Needs root, debootstrap, podman and runc, and takes some minutes.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { until } from '../../helpers/until.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const NPM = process.env.npm_execpath ?? assert.fail('run it by npm run test:long')
const PASSWORD = 'correct horse battery staple'
const folder = mkdtempSync(join(tmpdir(), 'image-'))
const system = join(folder, 'system')
const run = (file: string, ...args: readonly string[]): string =>
  execFileSync(file, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8, stdio: ['ignore', 'pipe', 'pipe'] }).trim()
// The default driver and runtime need what a container or an old kernel may not allow.
const STORE = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs', '--runtime', 'runc']
const podman = (...args: readonly string[]) => run('podman', ...STORE, ...args)
const progress = (line: string) => process.stdout.write(`${line}\n`)

const importBase = (name: string, ...changes: readonly string[]): void => {
  const tar = join(folder, 'base.tar')
  run('tar', '-C', system, '-cf', tar, '.')
  podman('import', '-q', ...changes, tar, `docker.io/library/${name}`)
  rmSync(tar)
}

const makeBases = (): void => {
  run('debootstrap', '--variant=minbase', 'bookworm', system)
  importBase('debian:bookworm-slim')
  cpSync(process.execPath, join(system, 'usr/local/bin/node'))
  cpSync(resolve(NPM, '../..'), join(system, 'usr/local/lib/node_modules/npm'), { recursive: true })
  run('ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', join(system, 'usr/local/bin/npm'))
  // A proxy between this host and the registry may have its own certificate.
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(system, 'etc/ssl/certs/ca-certificates.crt'))
  importBase('node:24-bookworm-slim', '--change', 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt')
}

/** Arguments of a container that has a network of its own and keeps its data in a volume. */
const container = (...options: readonly string[]): readonly string[] => {
  const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096']
  return [
    'run',
    '--name',
    'service',
    '--network',
    'none',
    ...limits,
    '--volume',
    'video-pipeline:/data',
    ...options,
    'video-pipeline-service',
  ]
}

/** Runs a program of this host in the network of the container. */
const beside = (...command: readonly string[]): string =>
  run('nsenter', `--net=/proc/${podman('inspect', 'service', '--format', '{{.State.Pid}}')}/ns/net`, ...command)

const request = (path: string, ...args: readonly string[]) => {
  const key = podman('exec', 'service', 'cat', '/data/api-key')
  return JSON.parse(beside('curl', '-sS', '-H', `X-API-Key: ${key}`, ...args, `http://127.0.0.1:8080/svc${path}`))
}

const readVideo = (name: string) => {
  const address = `rtsp://127.0.0.1:${new URL(request(`/pipeline/${name}`).output.uri.replace('rtsp:', 'http:')).port}/${name}`
  const { streams } = JSON.parse(beside('ffprobe', '-v', 'error', '-rtsp_transport', 'tcp', '-show_streams', '-of', 'json', address))
  return `${streams[0].codec_name} ${streams[0].width}x${streams[0].height}`
}

/** Starts the service with these options, calls back once its own health check is content, and stops it with SIGTERM. */
const serving = async (options: readonly string[], work: () => Promise<void>): Promise<void> => {
  podman(...container('--detach', ...options))
  await until(
    async () => spawnSync('podman', [...STORE, 'healthcheck', 'run', 'service']).status,
    (status) => status === 0,
  )
  await work()
  podman('stop', '--time', '10', 'service')
  assert.equal(podman('inspect', 'service', '--format', '{{.State.ExitCode}}'), '0')
  podman('rm', 'service')
}

try {
  progress('making the base images')
  makeBases()
  progress('building')
  podman(
    'build',
    '-q',
    '--isolation',
    'chroot',
    '--layers=false',
    '--pull=never',
    '--format',
    'docker',
    '--file',
    'engine/deploy/Dockerfile',
    '--tag',
    'video-pipeline-service',
    '.',
  )

  progress('refusing to start without a password')
  const { status, stderr } = spawnSync('podman', [...STORE, ...container('--rm')], { encoding: 'utf8' })
  assert.deepEqual([status, /SVC_PASSWORD/.test(stderr)], [78, true], stderr)

  progress('serving')
  const source = { uri: 'test://ball?width=320&height=180' }
  await serving(['--env', `SVC_PASSWORD=${PASSWORD}`], async () => {
    for (const body of [
      { id: 'gate', source },
      { id: 'small', source, encoding: { codec: 'h265', bitrate: 300, width: 160, height: 90 } },
    ])
      assert.equal(request('/pipeline', '-d', JSON.stringify(body)).state, 'playing')
    assert.deepEqual([readVideo('gate'), readVideo('small')], ['h264 320x180', 'hevc 160x90'])
  })

  progress('serving what is stored, without any right, from a file system that is read-only')
  const least = ['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges']
  await serving(least, async () => {
    await until(
      () => request('/pipeline') as { state: string }[],
      (pipelines) => pipelines.length === 2 && pipelines.every(({ state }) => state === 'playing'),
    )
    assert.equal(readVideo('small'), 'hevc 160x90')
    assert.equal(request('/health').sandbox, 'unavailable')
  })

  progress('confining the children where the container allows it')
  await serving(['--security-opt', 'seccomp=unconfined', '--security-opt', 'unmask=ALL'], async () => {
    await until(
      () => request('/health').sandbox,
      (state) => state === 'on',
    )
    const advanced = { id: 'advanced', raw_pipeline: 'videotestsrc ! x264enc tune=zerolatency ! rtph264pay name=pay0' }
    assert.equal(request('/pipeline', '-d', JSON.stringify(advanced)).state, 'playing')
  })
  progress('the image does all that')
} finally {
  spawnSync('podman', [...STORE, 'rm', '--force', '--all'])
  rmSync(folder, { recursive: true, force: true })
}
