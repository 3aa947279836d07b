/**
 * Random changes of pipelines while another program locks the database or its disk is full: what was accepted is there, what was refused
 * is not, also after a restart. Needs root (mount). database-faults [CHANGES] [SEED]
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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

const dataDir = mkdtempSync(join(tmpdir(), 'database-faults-'))
const mount = (...args: readonly string[]) => execFileSync('mount', [...args, dataDir])
mount('-t', 'tmpfs', '-o', 'size=32m,mode=700', 'tmpfs')
const filler = join(dataDir, 'filler')

/** Each begins a fault and answers what ends it. */
const FAULTS = {
  lock: async () => {
    const other = createClient({ url: pathToFileURL(join(dataDir, 'service.db')).href })
    // Between two changes of the service.
    let lock = await other.transaction('write').catch(() => undefined)
    while (lock === undefined && left > 0) lock = await other.transaction('write').catch(() => undefined)
    return async () => {
      await lock?.rollback()
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
} satisfies Record<string, () => Promise<() => Promise<void>>>

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

const breakThings = async (): Promise<void> => {
  while (left > 0) {
    await sleep(200 + random.integer(1500))
    const name = random.pick(Object.keys(FAULTS) as (keyof typeof FAULTS)[])
    const end = await FAULTS[name]()
    await sleep(random.integer(name === 'lock' ? 8000 : 2000))
    await end()
  }
}

let service = await startService({ dataDir })
try {
  await Promise.all([breakThings(), ...Array.from({ length: WORKERS }, (_, at) => work(service, at))])
  // What waited for the lock at the end is answered by now.
  await expectAccepted(service, 'at the end')
  await service.stop()
  service = await startService({ dataDir })
  await expectAccepted(service, 'after a restart')
  process.stdout.write(`${JSON.stringify({ changes, seed, answers: counts })}\n`)
} finally {
  await service.stop()
  execFileSync('umount', ['-l', dataDir])
  rmSync(dataDir, { recursive: true, force: true })
}
