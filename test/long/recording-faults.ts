/**
 * Disks that fail under recordings of the built service: one that becomes full (a small tmpfs), one that reports errors (EIO), and one that hangs
 * (by strace, which must be allowed to trace). Each time only the recording fails, says why, goes on by itself, and every file plays.
 * Needs root, or user namespaces. recording-faults
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chainsAt, checkChain } from '../../handlers/cli/recordings/chain-check.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { until } from '../helpers/until.ts'

const WAIT_MS = 60_000
const TMPFS_BYTES = 4_000_000

const recordingOf = async ({ request }: Service) => (await request('GET', '/svc/pipeline/gate')).body.recording

const reaches = (service: Service, state: string, reason = '') =>
  until(
    () => recordingOf(service),
    (found) => found.state === state && (reason === '' || found.last_error?.message.includes(reason)),
    WAIT_MS,
  )

const start = async (dataDir: string, prefix: readonly string[] = []): Promise<Service> => {
  const service = await startService({ dataDir, prefix })
  const settings = { segment_seconds: 1, min_free_gigabytes: 0 }
  assert.equal((await service.request('PUT', '/svc/settings', { recordings: settings })).status, 200)
  const source = { uri: 'test://ball?width=640&height=360&fps=25' }
  assert.equal((await service.request('POST', '/svc/pipeline', { id: 'gate', source })).status, 201)
  assert.equal((await service.request('PUT', '/svc/pipeline/gate/recording/start')).status, 200)
  await reaches(service, 'recording')
  return service
}

/** The pipeline has played all the time, and what is recorded plays, is listed and holds. */
const judge = async (service: Service): Promise<number> => {
  const { runtime } = (await service.request('GET', '/svc/pipeline/gate')).body
  assert.deepEqual([runtime.phase, runtime.restarts], ['playing', 0])
  const key = createPublicKey((await service.request('GET', '/svc/recordings/key')).body)
  const spans = (await service.request('GET', '/svc/recordings?pipeline_id=gate')).body
  assert(spans.length > 0)
  for (const { from, to } of spans) {
    const address = `${service.url}/svc/pipeline/gate/recording.ts?from=${from}&to=${to}`
    execFileSync('ffmpeg', ['-v', 'error', '-xerror', '-i', address, '-f', 'null', '-'], { stdio: ['ignore', 'ignore', 'pipe'] })
  }
  return (await checkAll(key, service)) ?? spans.length
}

const checkAll = async (key: ReturnType<typeof createPublicKey>, { dataDir, pid }: Service): Promise<undefined> => {
  // Within the mount namespace of the service.
  const folder = join('/proc', String(pid), 'root', dataDir, 'recordings')
  for (const chain of chainsAt(folder)) assert.deepEqual(await checkChain(chain, key), undefined)
}

/** Makes system calls of the engine fail or wait; answers what ends that. */
const inject = async (service: Service, rule: string): Promise<() => Promise<void>> => {
  const calls = rule.slice(0, rule.indexOf(':'))
  const args = ['-f', '-qq', '-p', String(service.enginePid()), '-e', `trace=${calls}`, '-e', 'signal=none', '-e', `inject=${rule}`]
  const tracer = spawn('strace', [...args, '-o', '/dev/null'], { stdio: 'ignore' })
  return async () => {
    tracer.kill('SIGINT')
    await once(tracer, 'exit')
  }
}

const FAULTS = {
  'a disk that is full': async (dataDir: string) => {
    const recordings = join(dataDir, 'recordings')
    const mount = `mkdir -p ${recordings} && mount -t tmpfs -o size=${TMPFS_BYTES} tmpfs ${recordings} && exec "$@"`
    const user = process.getuid?.() === 0 ? [] : ['--map-root-user']
    const service = await start(dataDir, ['unshare', '--mount', ...user, 'sh', '-c', mount, 'sh'])
    await reaches(service, 'failed', 'full')
    const before = new Date().toISOString()
    await judge(service)
    assert((await service.request('DELETE', `/svc/recordings?pipeline_id=gate&before=${before}`)).body.deleted > 0)
    await reaches(service, 'recording')
    return service
  },
  'a disk that reports errors': async (dataDir: string) => {
    const service = await start(dataDir)
    const mend = await inject(service, 'pwritev,pwrite64,fdatasync:error=EIO')
    await reaches(service, 'failed')
    await mend()
    await reaches(service, 'recording')
    return service
  },
  'a disk that hangs': async (dataDir: string) => {
    const service = await start(dataDir)
    const mend = await inject(service, 'pwritev,pwrite64,fdatasync:delay_enter=15000000')
    await reaches(service, 'failed', 'slow')
    await mend()
    await reaches(service, 'recording')
    return service
  },
} as const

for (const [name, fault] of Object.entries(FAULTS)) {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-disk-'))
  const began = performance.now()
  const service = await fault(dataDir)
  const segments = readdirSync(join('/proc', String(service.pid), 'root', dataDir, 'recordings', 'gate')).length
  assert(segments > 0)
  // A few more segments after it.
  const since = Date.now() + 3000
  const lasts = async () =>
    Math.max(...(await service.request('GET', '/svc/recordings?pipeline_id=gate')).body.map(({ to }: { to: string }) => Date.parse(to)), 0)
  await until(lasts, (to) => to > since, WAIT_MS)
  const spans = await judge(service)
  assert.equal(await service.stop(), 0)
  rmSync(dataDir, { recursive: true, force: true })
  process.stdout.write(`${name}: ${spans} spans play, the chain holds; ${Math.round((performance.now() - began) / 1000)} s\n`)
}
