/**
 * A site of cameras that are off, from one file: applied in less than a second, all starting; they play within 3 s of coming. Then power
 * cuts (kill -9 of everything), with some pipelines stopped before: what played plays again, and no other. power-cut [CAMERAS] [CUTS]
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mediaChildren } from '../../helpers/api/host-truth.ts'
import { sleep } from '../../helpers/bench/measure.ts'
import { freePort } from '../../helpers/ports.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { createRandom } from '../../helpers/random.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'
import { command } from '../../helpers/service/pipelines.ts'
import { until } from '../../helpers/until.ts'

const [cameras = 20, cuts = 20] = process.argv.slice(2).map(Number)
const APPLIED_MS = 1000
const PLAYS_MS = 3000
const random = createRandom(Date.now() % 1e9)

interface View {
  readonly id: string
  readonly state: string
  readonly runtime: { readonly phase: string; readonly desired: string }
}

const dataDir = mkdtempSync(join(tmpdir(), 'power-cut-'))
const port = await freePort()
const ids = Array.from({ length: cameras }, (_, at) => `camera-${at}`)
const file = join(dataDir, 'site.json')
// A third is encoded again, so that there are children to be left over.
const pipelines = ids.map((id, at) => ({
  id,
  source: { uri: `rtsp://127.0.0.1:${port}/h264` },
  ...(at % 3 === 0 && { encoding: { codec: 'h264', width: 160, height: 90, fps: 5, quality: 1 } }),
}))
writeFileSync(file, JSON.stringify({ pipelines }))

const list = async (service: Service): Promise<readonly View[]> => (await service.request('GET', '/svc/pipeline')).body
const phases = async (service: Service) => new Map((await list(service)).map(({ id, runtime }) => [id, runtime.phase]))
const playing = async (service: Service) => (await list(service)).filter(({ runtime }) => runtime.phase === 'playing').map(({ id }) => id)

const timeOf = ({ time }: Record<string, unknown>) => Date.parse(String(time))

/** Kills the API, the engine and every child at once. */
const cut = async (service: Service): Promise<void> => {
  const engine = service.enginePid()
  for (const pid of [...mediaChildren(engine), engine]) process.kill(pid, 'SIGKILL')
  await service.kill()
}

let service = await startService({ dataDir })
let source: Awaited<ReturnType<typeof startRtspSource>> | undefined
try {
  await service.stop()
  service = await startService({ dataDir, env: { SVC_PIPELINES: file } })
  const appliedMs = timeOf(await service.waitForLog('declared_pipelines_applied')) - timeOf(await service.waitForLog('engine_started'))
  const first = await phases(service)
  assert.deepEqual(
    [first.size, new Set([...first.values()].map((phase) => /^(starting|reconnecting)$/.test(phase)))],
    [cameras, new Set([true])],
  )

  // Long enough that the pauses between two attempts have grown.
  await sleep(20_000)
  source = await startRtspSource(['--port', String(port), '--width', '320', '--height', '180', '--fps', '10', '--gop-seconds', '0.5'])
  const came = performance.now()
  await until(
    () => playing(service),
    ({ length }) => length === cameras,
  )
  const playedMs = Math.round(performance.now() - came)

  let wanted = new Set(ids)
  const backMs: number[] = []
  for (let round = 0; round < cuts; round += 1) {
    for (const id of ids) {
      if (!random.chance(0.2)) continue
      const [verb, changed] = wanted.has(id)
        ? (['stop', new Set([...wanted].filter((other) => other !== id))] as const)
        : (['play', new Set([...wanted, id])] as const)
      assert.equal((await command(service, id, verb)).status, 200)
      wanted = changed
    }
    await cut(service)
    const restarted = performance.now()
    service = await startService({ dataDir })
    await until(
      () => playing(service),
      (found) => found.length >= wanted.size,
    )
    backMs.push(Math.round(performance.now() - restarted))
    const found = await list(service)
    assert.deepEqual(new Set(found.filter(({ state }) => state === 'playing').map(({ id }) => id)), wanted, `round ${round}`)
    for (const { id, runtime } of found) assert.equal(runtime.desired, wanted.has(id) ? 'playing' : 'ready', `${id} in round ${round}`)
  }
  const worstMs = Math.max(0, ...backMs)
  process.stdout.write(`${JSON.stringify({ cameras, applied_ms: appliedMs, played_ms: playedMs, cuts, back_ms_worst: worstMs })}\n`)
  assert.ok(appliedMs < APPLIED_MS, `applied in ${appliedMs} ms`)
  assert.ok(playedMs < PLAYS_MS, `played ${playedMs} ms after the cameras came`)
} finally {
  await service.stop()
  await source?.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
