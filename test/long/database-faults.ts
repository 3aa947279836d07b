/**
 * Random changes of pipelines while another program locks the database, its disk is full, or its files and folders are read-only: what was
 * accepted is there, what was refused is not, also after a restart. Needs root (mount). database-faults [CHANGES] [SEED]
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'
import { sleep } from '../helpers/bench/measure.ts'
import { type Answer, type Service, startService } from '../helpers/process/service.ts'
import { createRandom } from '../helpers/random.ts'

const [changes = 1000, seed = Date.now() % 1e9] = process.argv.slice(2).map(Number)
const random = createRandom(seed)
const WORKERS = 4
const IDS_PER_WORKER = 5

/** Modes do not bind root, as which this program runs. */
const USER = 65534
const AS_USER = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups']

const folder = mkdtempSync(join(tmpdir(), 'database-faults-'))
// The same folder twice: what this program does is not hindered by the faults.
const store = join(folder, 'store')
const dataDir = join(folder, 'data')
const mount = (...args: readonly string[]) => execFileSync('mount', args)
for (const path of [store, dataDir]) mkdirSync(path)
chmodSync(folder, 0o755)
mount('-t', 'tmpfs', '-o', `size=32m,mode=700,uid=${USER},gid=${USER}`, 'tmpfs', store)
mount('--bind', store, dataDir)
const filler = join(store, 'filler')

/** Takes the lock between two changes of the service. */
const takeLock = async () => {
  for (;;) {
    const other = createClient({ url: pathToFileURL(join(store, 'service.db')).href })
    try {
      return { other, lock: await other.transaction('write') }
    } catch {
      other.close()
      await sleep(1)
    }
  }
}

/** As after a backup that root has put back: the service may read, and not write. */
const give = (path: string, owner: number, mode: number): void => {
  chownSync(path, owner, owner)
  chmodSync(path, mode)
}

const giveFiles = (owner: number, mode: number): void => {
  for (const name of readdirSync(store).filter((file) => file.startsWith('service.db'))) give(join(store, name), owner, mode)
}

/** Each begins a fault and answers what ends it. */
const BUSY_OR_FULL = {
  lock: async () => {
    const { other, lock } = await takeLock()
    return async () => {
      await lock.rollback()
      other.close()
    }
  },
  full: async () => {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(64 * 1024), { flag: 'a' })
    } catch {
      // It is full now.
    }
    return async () => rmSync(filler, { force: true })
  },
}
const READ_ONLY = {
  files: async () => {
    giveFiles(0, 0o644)
    return async () => giveFiles(USER, 0o600)
  },
  folder: async () => {
    give(store, 0, 0o755)
    return async () => give(store, USER, 0o700)
  },
  mount: async () => {
    mount('-o', 'bind,ro', store, dataDir)
    return async () => void execFileSync('umount', ['-l', dataDir])
  },
}
type Faults = Readonly<Record<string, () => Promise<() => Promise<void>>>>

/** What the service has accepted: id → position, or null without one. */
const accepted = new Map<string, object | null>()
const counts: Record<string, number> = {}
let left = changes

const isRefused = ({ status, body }: Answer): boolean => {
  const reason = String(body?.details?.reason ?? body?.code)
  counts[`${status}${status >= 400 ? ` ${reason}` : ''}`] = (counts[`${status}${status >= 400 ? ` ${reason}` : ''}`] ?? 0) + 1
  if (status === 503) return true
  assert.ok(status < 300, `${status} ${JSON.stringify(body)}`)
  return false
}

const change = async (service: Service, id: string): Promise<void> => {
  const path = `/svc/pipeline/${id}`
  const body = { id, on_demand: true, source: { uri: `test://ball?fps=${1 + random.integer(30)}` } }
  if (!accepted.has(id)) {
    if (!isRefused(await service.request('POST', '/svc/pipeline', body))) accepted.set(id, null)
  } else if (random.chance(0.3)) {
    if (!isRefused(await service.request('DELETE', path))) accepted.delete(id)
  } else {
    const geolocation = { latitude: random.integer(90), longitude: random.integer(180), altitude: null, heading: null }
    if (!isRefused(await service.request('PATCH', path, { geolocation }))) accepted.set(id, geolocation)
  }
}

const expectAccepted = async (service: Service, when: string): Promise<void> => {
  const { body } = await service.request('GET', '/svc/pipeline')
  const found = new Map((body as { id: string; geolocation: unknown }[]).map(({ id, geolocation }) => [id, geolocation]))
  assert.deepEqual(found, accepted, `${when}, seed ${seed}`)
}

const work = async (service: Service, at: number): Promise<void> => {
  while (left > 0) {
    left -= 1
    await change(service, `p${at}-${random.integer(IDS_PER_WORKER)}`)
  }
}

const breakThings = async (faults: Faults): Promise<void> => {
  while (left > 0) {
    await sleep(200 + random.integer(1500))
    const [name, begin] = random.pick(Object.entries(faults))
    const end = await begin()
    await sleep(random.integer(name === 'lock' ? 8000 : 2000))
    await end()
  }
}

const start = () => startService({ dataDir, prefix: AS_USER })

let service = await start()
try {
  await Promise.all([breakThings(BUSY_OR_FULL), breakThings(READ_ONLY), ...Array.from({ length: WORKERS }, (_, at) => work(service, at))])
  // What waited for the lock at the end is answered by now.
  await expectAccepted(service, 'at the end')
  await service.stop()
  for (const [name, begin] of Object.entries(READ_ONLY)) {
    const end = await begin()
    await assert.rejects(
      start().then((started) => started.stop()),
      /(?:can only be read|cannot be (?:used|opened))/,
      name,
    )
    await end()
  }
  service = await start()
  await expectAccepted(service, 'after a restart')
  process.stdout.write(`${JSON.stringify({ changes, seed, answers: counts })}\n`)
} finally {
  await service.stop()
  for (const path of [dataDir, store]) execFileSync('umount', ['-l', path])
  rmSync(folder, { recursive: true, force: true })
}
