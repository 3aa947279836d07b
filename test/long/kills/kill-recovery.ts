/**
 * kill -9 of everything there is, and a source that hangs: tells how soon there is media again. Readers stay and miss no packet, the
 * service says what is so, and nothing is left over. kill-recovery [PIPELINES]
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { quantile, sleep } from '../../helpers/bench/measure.ts'
import { createPipeline } from '../../helpers/bench/service-run.ts'
import { childrenOf, isAlive, processesWith } from '../../helpers/process/processes.ts'
import { type Service, startService } from '../../helpers/process/service.ts'
import { openReader, type RtspReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'
import { until } from '../../helpers/until.ts'

const count = Number(process.argv[2] ?? 20)
const dataDir = `/tmp/bench-kills-${process.pid}`
const env = { SVC_OUTPUT_PORTS: '21000-21999' }
const SMALL = { uri: 'test://ball?width=160&height=120&fps=15' }

const say = (what: string, facts: unknown): void => console.log(JSON.stringify({ what, ...(facts as object) }))
const rounded = (values: readonly number[]) => ({
  median_ms: Math.round(quantile(values, 0.5)),
  max_ms: Math.round(Math.max(...values)),
  all_ms: values.map(Math.round),
})

const nextPacketMs = async (reader: RtspReader, since: number): Promise<number> => {
  await reader.until(() => (reader.packets.at(-1)?.arrivedMs ?? 0) > since)
  return (reader.packets.find(({ arrivedMs }) => arrivedMs > since)?.arrivedMs ?? Number.NaN) - since
}

const longestPauseMs = ({ packets }: RtspReader): number =>
  packets.reduce((longest, { arrivedMs }, at) => Math.max(longest, arrivedMs - (packets[at - 1]?.arrivedMs ?? arrivedMs)), 0)

const childPid = async (service: Service, id: string): Promise<number> => {
  const log = (await service.request('GET', `/svc/pipeline/${id}/log`)).body as readonly { line: string }[]
  return Number(/started process (\d+)/.exec(log.findLast(({ line }) => line.startsWith('started process'))?.line ?? '')?.[1])
}

/** Gives an RTSP source a child. */
const ENCODED = { codec: 'h264', bitrate: 500, quality: 1 }

/** kill -9 of one child after the other, each of a pipeline of its own, with a reader attached. */
const killChildren = async (service: Service, what: string, source: string, times: number): Promise<void> => {
  const until1: number[] = []
  for (let index = 0; index < times; index += 1) {
    const id = `${what}-${index}`
    const reader = await openReader(await createPipeline(service, { id, source: { uri: source }, encoding: ENCODED }))
    await reader.until(() => reader.count > 20)
    await sleep(index * 130)
    const pid = await childPid(service, id)
    const killed = performance.now()
    process.kill(pid, 'SIGKILL')
    // What the child had written before may still arrive.
    await until(
      () => childrenOf(service.enginePid()),
      (children) => children.every((child) => child.pid !== pid),
    )
    const gone = performance.now()
    until1.push(gone - killed + (await nextPacketMs(reader, gone + 5)))
    assert.deepEqual([id, reader.open, sequenceGaps(reader.packets)], [id, true, []])
    await reader.close()
    await service.request('PUT', `/svc/pipeline/${id}/stop`)
  }
  say(`kill -9 of a child (${what}): media again`, rounded(until1))
}

/** kill -9 of the children of one pipeline, each as soon as there was media of it for a second. */
const killAgainAndAgain = async (service: Service, source: string, times: number): Promise<void> => {
  const reader = await openReader(await createPipeline(service, { id: 'again', source: { uri: source }, encoding: ENCODED }))
  const pauses: number[] = []
  for (let round = 0; round < times; round += 1) {
    const count = reader.count
    await reader.until(() => reader.count > count + 20, 60_000)
    await sleep(1000)
    const pid = await childPid(service, 'again')
    const killed = performance.now()
    process.kill(pid, 'SIGKILL')
    await until(
      () => childrenOf(service.enginePid()),
      (children) => children.every((child) => child.pid !== pid),
    )
    const gone = performance.now()
    await reader.until(() => (reader.packets.at(-1)?.arrivedMs ?? 0) > gone + 5, 60_000)
    pauses.push(performance.now() - killed)
  }
  say('kill -9 of the child of one pipeline again and again: media again', rounded(pauses))
  assert.deepEqual([reader.open, sequenceGaps(reader.packets)], [true, []])
  await reader.close()
  await service.request('PUT', '/svc/pipeline/again/stop')
}

const hang = async (service: Service): Promise<void> => {
  const source = await startRtspSource()
  await service.request('PUT', '/svc/settings', { stall_timeout_seconds: 3 })
  const foundMs: number[] = []
  for (let index = 0; index < 3; index += 1) {
    const id = `hang-${index}`
    const reader = await openReader(await createPipeline(service, { id, source: { uri: source.url('/mp2t') } }))
    await reader.until(() => reader.count > 20)
    source.pause()
    const last = performance.now()
    const answer = await until(
      async () => (await service.request('GET', `/svc/pipeline/${id}`)).body,
      ({ runtime }) => runtime.phase === 'reconnecting',
    )
    foundMs.push(performance.now() - last)
    assert.equal(answer.state, 'playing')
    assert.match(answer.runtime.last_error.message, /stopped sending/)
    source.resume()
    const resumed = performance.now()
    say('hung source goes on: media again', { ms: Math.round(await nextPacketMs(reader, resumed)) })
    assert.ok(reader.open)
    await reader.close()
    await service.request('PUT', `/svc/pipeline/${id}/stop`)
  }
  await source.stop()
  say('source hangs (stall timeout 3 s): found', rounded(foundMs))
}

const allPlaying = (service: Service): Promise<unknown> =>
  until(
    async () => (await service.request('GET', '/svc/pipeline?state=playing')).body.length as number,
    (playing) => playing === count,
  )

let service = await startService({ dataDir, env })
try {
  await killChildren(service, 'test', SMALL.uri, 10)
  const source = await startRtspSource(['--gop-seconds', '1'])
  await killChildren(service, 'rtsp-gop-1s', source.url('/h264'), 10)
  await killAgainAndAgain(service, source.url('/h264'), 10)
  await source.stop()
  await hang(service)
  for (const { id } of (await service.request('GET', '/svc/pipeline')).body) await service.request('DELETE', `/svc/pipeline/${id}`)

  const outputs: string[] = []
  for (let index = 0; index < count; index += 1) outputs.push(await createPipeline(service, { id: `many-${index}`, source: SMALL }))
  for (let round = 0; round < 3; round += 1) {
    const engine = service.enginePid()
    const children = childrenOf(engine).map(({ pid }) => pid)
    const killed = performance.now()
    process.kill(engine, 'SIGKILL')
    await until(
      () => children.some(isAlive),
      (alive) => !alive,
    )
    const childrenGone = performance.now() - killed
    await until(
      () => isAlive(engine),
      (alive) => !alive,
    )
    await service.waitForLog('engine_ready', 2 + round)
    const ready = performance.now() - killed
    await allPlaying(service)
    say(`kill -9 of the sidecar with ${count} playing`, {
      children_gone_ms: Math.round(childrenGone),
      engine_ready_ms: Math.round(ready),
      all_playing_ms: Math.round(performance.now() - killed),
    })
    assert.equal(childrenOf(service.enginePid()).length, count)
  }

  const readers = await Promise.all(outputs.map((url, at) => openReader(url, { transport: at % 4 === 3 ? 'udp' : 'tcp' })))
  for (let round = 0; round < 3; round += 1) {
    const engine = service.enginePid()
    await service.kill()
    const killed = performance.now()
    service = await startService({ dataDir, env })
    const list = (await service.request('GET', '/svc/pipeline')).body as readonly {
      state: string
      runtime: { restarts: number; readers: number }
    }[]
    say(`kill -9 of the API with ${count} playing`, { truth_ms: Math.round(performance.now() - killed) })
    assert.equal(service.enginePid(), engine)
    assert.deepEqual(
      list.map(({ state, runtime }) => [state, runtime.restarts, runtime.readers]),
      outputs.map(() => ['playing', 0, 1]),
    )
  }
  const before = service
  const answers = new Map<string, number>()
  let hammering = true
  const hammer = async (worker: number): Promise<void> => {
    while (hammering) {
      const outcome = await service
        .request(worker % 2 === 0 ? 'GET' : 'PUT', worker % 2 === 0 ? '/svc/pipeline' : `/svc/pipeline/many-${worker}/play`)
        .then(
          ({ status }) => String(status),
          (error: Error) => (error.cause as { code?: string } | undefined)?.code ?? error.message,
        )
      answers.set(outcome, (answers.get(outcome) ?? 0) + 1)
      if (!/^\d+$/.test(outcome)) await sleep(5)
    }
  }
  const hammers = Array.from({ length: 10 }, (_, worker) => hammer(worker))
  await sleep(500)
  const asked = performance.now()
  service = await startService({ dataDir, env, args: ['--takeover'] })
  const took = performance.now() - asked
  await sleep(500)
  hammering = false
  await Promise.all(hammers)
  say('takeover under load', { took_ms: Math.round(took), answers: Object.fromEntries(answers) })
  assert.equal(isAlive(before.pid), false)
  // Only a connection that the old process had may end without an answer.
  assert.deepEqual(
    [...answers.keys()].filter((answer) => !/^(?:200|503|ECONNRESET|ECONNREFUSED|UND_ERR_SOCKET)$/.test(answer)),
    [],
  )
  await allPlaying(service)
  say('readers through all of it', { longest_pause_ms: Math.round(Math.max(...readers.map(longestPauseMs))) })
  assert.ok(readers.every(({ open, packets }) => open && sequenceGaps(packets).length === 0))
  for (const reader of readers) await reader.close()
} finally {
  await service.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
assert.deepEqual(processesWith(`SVC_DATA_DIR=${dataDir}`), [])
