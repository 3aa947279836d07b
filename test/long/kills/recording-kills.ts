/**
 * Kills engine, API or both (SIGKILL) at random moments while 4 pipelines record, and judges what is on the disk after each: at most 1 s is
 * lost, every file plays, the index says what the folders hold, the chains hold. recording-kills [ROUNDS = 100] [SEED]
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chainsAt, checkChain } from '../../../handlers/cli/recordings/chain-check.ts'
import { segmentTime } from '../../../lib/segments/segment-name.ts'
import { counterGaps, countPictures } from '../../helpers/media/transport-stream.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { createRandom } from '../../helpers/random.ts'
import { until } from '../../helpers/until.ts'

const [rounds = '100', seed = '35'] = process.argv.slice(2)
const random = createRandom(Number(seed))
const IDS = ['one', 'two', 'three', 'four']
const FPS = 25
const FRAME_MS = 1000 / FPS
/** A frame on its way, and the clock of the process that kills. */
const SLACK_MS = 100
const dataDir = mkdtempSync(join(tmpdir(), 'svc-kills-'))
const folder = join(dataDir, 'recordings')
const losses: number[] = []
const played = new Set<string>()

interface File {
  readonly path: string
  readonly name: string
  readonly at: number
}

const filesOf = (id: string): readonly File[] => {
  const place = join(folder, id)
  const days = readdirSync(place, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const files = days.flatMap(({ name: day }) =>
    readdirSync(join(place, day)).map((name) => ({ path: join(place, day, name), name, at: segmentTime(name) ?? 0 })),
  )
  return files.sort((one, other) => one.at - other.at)
}

const records = async (service: Service): Promise<boolean> => {
  const states = await Promise.all(IDS.map(async (id) => (await service.request('GET', `/svc/pipeline/${id}`)).body.recording?.state))
  return states.every((state) => state === 'recording')
}

const start = async (): Promise<Service> => {
  const service = await startService({ dataDir })
  await until(
    () => records(service).catch(() => false),
    (recording) => recording,
    60_000,
  )
  return service
}

/** Milliseconds of media before the kill that are not on the disk. */
const lossOf = (id: string, killedAt: number): number => {
  const last = filesOf(id).findLast(({ at }) => at <= killedAt)
  assert(last !== undefined, `${id} has no file from before the kill`)
  return killedAt - (last.at + countPictures(readFileSync(last.path)) * FRAME_MS)
}

/** Every new file decodes without a complaint, and its counters have no gap. */
const judgeFiles = (): void => {
  for (const id of IDS) {
    for (const { path } of filesOf(id).slice(0, -1)) {
      if (played.has(path)) continue
      played.add(path)
      const bytes = readFileSync(path)
      assert.equal(bytes.length % 188, 0, path)
      assert.equal(counterGaps(bytes), 0, path)
      execFileSync('ffmpeg', ['-v', 'error', '-xerror', '-i', path, '-map', '0:v', '-f', 'null', '-'], {
        stdio: ['ignore', 'ignore', 'pipe'],
      })
    }
  }
}

const judgeIndex = async (service: Service): Promise<void> => {
  for (const id of IDS) {
    const bytes = filesOf(id)
      .slice(0, -1)
      .reduce((sum, { path }) => sum + readFileSync(path).length, 0)
    const listed = async (): Promise<number> => {
      const { body } = await service.request('GET', `/svc/recordings?pipeline_id=${id}`)
      return body.reduce((sum: number, span: { bytes: number }) => sum + span.bytes, 0)
    }
    // The newest file may have ended meanwhile.
    // A connection that is kept may end just when it is used.
    await until(
      () => listed().catch(() => -1),
      (found) => found >= bytes,
      10_000,
    )
  }
}

const judgeChains = async (): Promise<void> => {
  const key = createPublicKey(readFileSync(join(dataDir, 'recordings-key.pem')))
  for (const chain of chainsAt(folder)) assert.deepEqual(await checkChain(chain, key), undefined)
}

const KILLS = ['engine', 'api', 'both'] as const

let service = await startService({ dataDir })
await service.request('PUT', '/svc/settings', { recordings: { segment_seconds: 1, max_gigabytes: 2 } })
for (const id of IDS) {
  const source = { uri: `test://ball?width=160&height=120&fps=${FPS}&klv=1` }
  assert.equal((await service.request('POST', '/svc/pipeline', { id, source, klv_config: { pass_klv: true } })).status, 201)
  assert.equal((await service.request('PUT', `/svc/pipeline/${id}/recording/start`)).status, 200)
}
await until(
  () => records(service),
  (recording) => recording,
)
try {
  for (let round = 1; round <= Number(rounds); round += 1) {
    const kill = random.pick(KILLS)
    await new Promise((resolve) => setTimeout(resolve, 200 + random.integer(2500)))
    const engine = service.enginePid()
    const killedAt = Date.now()
    if (kill !== 'api') process.kill(engine, 'SIGKILL')
    if (kill !== 'engine') await service.kill()
    if (kill === 'both') losses.push(...IDS.map((id) => lossOf(id, killedAt)))
    if (kill !== 'engine') service = await start()
    else {
      await until(
        () => service.enginePid(),
        (pid) => pid !== engine,
        30_000,
      )
      losses.push(...IDS.map((id) => lossOf(id, killedAt)))
      await until(
        () => records(service).catch(() => false),
        (recording) => recording,
        60_000,
      )
    }
    judgeFiles()
    await judgeIndex(service)
    await judgeChains()
    const worst = Math.max(0, ...losses)
    process.stderr.write(`round ${round} ${kill}: worst loss so far ${Math.round(worst)} ms, ${played.size} files play\n`)
    assert(worst < 1000 + SLACK_MS, `lost ${worst} ms`)
  }
} finally {
  await service.stop()
}
judgeFiles()
await judgeChains()
rmSync(dataDir, { recursive: true, force: true })
process.stdout.write(
  `${rounds} kills: at most ${Math.round(Math.max(...losses))} ms lost, ${played.size} files play, index and chains hold\n`,
)
