/**
 * Triggers on the running service, with a third-party media server: how long a publish takes to its answer and to the first
 * packet at a reader, 200 publishes at once, and storms of 300 random calls over 20 paths from 8 clients, after each of which processes, ports,
 * database and list must agree. Six of the paths are published and three pipelines may play. trigger-load [ROUNDS] [SEEDS]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agree, holdings, storm, TRIGGER_KEY, trigger } from '../helpers/api/trigger-storm.ts'
import { quantile } from '../helpers/bench/measure.ts'
import { publishWithFfmpeg, startMediaServer } from '../helpers/media/media-server.ts'
import { type Service, startService } from '../helpers/process/service.ts'
import { openReader } from '../helpers/rtsp/reader.ts'
import { until } from '../helpers/until.ts'

const [rounds = 10, seeds = 10] = process.argv.slice(2).map(Number)
const RANGE = [21_000, 21_099] as const
const PATHS = ['s/0', 's.0', ...Array.from({ length: 18 }, (_, index) => `s/${index + 1}`)]
const PUBLISHED = 6
const PLACES = 3

const report = (line: Record<string, unknown>): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const timings = async (service: Service): Promise<void> => {
  const answered: number[] = []
  const shown: number[] = []
  const removed: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now()
    const { status, body } = await trigger(service, 'PUT', 's/1')
    if (status !== 200) throw new Error(JSON.stringify(body))
    answered.push(performance.now() - began)
    const { output } = (await service.request('GET', '/svc/pipeline/s1')).body
    const reader = await openReader(output.uri.replace('0.0.0.0', '127.0.0.1'))
    await reader.until(() => reader.count > 0)
    shown.push(performance.now() - began)
    await reader.close()
    const ends = performance.now()
    await trigger(service, 'DELETE', 's/1')
    removed.push(performance.now() - ends)
  }
  const of = (values: readonly number[]) => ({
    median: Math.round(quantile(values, 0.5)),
    p95: Math.round(quantile(values, 0.95)),
    max: Math.round(Math.max(...values)),
  })
  report({ rounds, put_to_answer_ms: of(answered), put_to_first_packet_ms: of(shown), delete_to_answer_ms: of(removed) })
}

/** 200 publishes at once, each with an id of its own, where three may play. */
const surge = async (service: Service): Promise<void> => {
  const began = performance.now()
  const refused: number[] = []
  const publish = async (index: number): Promise<number> => {
    const { status } = await trigger(service, 'PUT', 's/1', `surge-${index}`)
    if (status === 503) refused.push(performance.now() - began)
    return status
  }
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, index) => publish(index)))
  const playing = statuses.filter((status) => status === 200).length
  const held = await holdings(service, RANGE)
  if (playing !== PLACES || refused.length !== 200 - PLACES || held.list.length !== PLACES || !agree(held))
    throw new Error(JSON.stringify({ playing, refused: refused.length, held }))
  report({ publishes: 200, playing, refused: refused.length, last_refusal_ms: Math.round(Math.max(...refused)), held })
  await Promise.all(held.list.map((id) => trigger(service, 'DELETE', 's/1', id)))
}

const storms = async (service: Service): Promise<void> => {
  for (let seed = 1; seed <= seeds; seed += 1) {
    const began = performance.now()
    const answers = await storm(service, { seed, calls: 300, clients: 8, paths: PATHS, pauseMs: 500 })
    const seconds = (performance.now() - began) / 1000
    const after = await until(() => holdings(service, RANGE), agree)
    if (after.list.length > PLACES) throw new Error(`${after.list.length} pipelines in ${PLACES} places`)
    report({ seed, seconds: Math.round(seconds), answers, after })
    await Promise.all(PATHS.map((path) => trigger(service, 'DELETE', path)))
    const end = await holdings(service, RANGE)
    if (end.list.length > 0 || !agree(end)) throw new Error(`not empty after seed ${seed}: ${JSON.stringify(end)}`)
  }
}

const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
const server = await startMediaServer()
const service = await startService({
  dataDir,
  env: { SVC_API_KEY: TRIGGER_KEY, SVC_MEDIA_SERVER: `127.0.0.1:${server.port}`, SVC_OUTPUT_PORTS: RANGE.join('-') },
})
const publishers = PATHS.slice(2, 2 + PUBLISHED).map((path) => publishWithFfmpeg(server.publishUrl(path), '160x120', 5))
try {
  for (const path of PATHS.slice(2, 2 + PUBLISHED)) await server.line(({ available }) => available === path)
  await timings(service)
  await service.request('PUT', '/svc/settings', { triggers: { max_ephemeral: PLACES } })
  await surge(service)
  await storms(service)
} finally {
  await Promise.all(publishers.map((publisher) => publisher.kill()))
  await service.stop()
  await server.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
