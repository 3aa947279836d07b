/**
 * A fleet of many hosts at one real nats-server: how fast a change reaches all of them, what they cost at rest, a partition of half of
 * them, and the server killed at random. Some hosts are real processes, the others run in this one with engines without media.
 * fleet [HOSTS = 100] [REAL = 8] [OUTAGE_SECONDS = 60] [SEED = 37]
 */
import assert from 'node:assert/strict'
import { jetstream } from '@nats-io/jetstream'
import { startBlockableLink } from '../../helpers/nats/blockable-link.ts'
import { type FleetView, openFleetView } from '../../helpers/nats/fleet.ts'
import { type FleetHost, startRealHost, startStubHost } from '../../helpers/nats/fleet-hosts.ts'
import { startNatsServer } from '../../helpers/nats/nats-server.ts'
import { cpuSeconds, privateBytes } from '../../helpers/process/processes.ts'
import { createRandom } from '../../helpers/random.ts'
import { until } from '../../helpers/until.ts'

const [count = 100, realCount = 8, outageSeconds = 60, seed = 37] = process.argv.slice(2).map(Number)
const random = createRandom(seed)
const REST_MS = 60_000
const PATIENCE_MS = 120_000
const ROUNDS = 5
/** What a fleet must show. */
const MUST = { p99Ms: 2000, healedMs: 5000, bytesPerSecond: 2000, agentBytes: 15e6, cpu: 0.001 }

const say = (text: string): void => console.log(text)
const percentile = (values: readonly number[], part: number): number =>
  [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0
/** What was too slow or too much: judged at the end, since a busy machine is no reason to skip the rest. */
const missed: string[] = []
const must = (holds: boolean, text: string): void => void (holds || missed.push(text))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const server = await startNatsServer()
const links = [await startBlockableLink(server.port), await startBlockableLink(server.port)] as const
const urlOf = (at: number): string => `nats://127.0.0.1:${links[at % 2 === 0 ? 0 : 1].port}`
const names = Array.from({ length: count }, (_, at) => `host-${String(at).padStart(3, '0')}`)
const hosts: FleetHost[] = []
const fleet: FleetView = await openFleetView(server.url)

/** The newest state of each host, and when its document of a revision was reported as applied. */
const applied = new Map<string, { readonly revision: number; readonly at: number }>()
const subscription = fleet.connection.subscribe('$KV.vps-actual.*', {
  callback: (_, message) => {
    const state = message.json<{ host: string; applied_revision: number | null; drift: readonly unknown[] }>()
    const revision = state.applied_revision ?? 0
    if ((applied.get(state.host)?.revision ?? -1) < revision) applied.set(state.host, { revision, at: performance.now() })
  },
})

let changes = 0
const documentOf = (name: string): string => {
  changes += 1
  const uris = [`${name}/${changes}`, 'second', 'third']
  const pipelines = uris.map((path, at) => ({ id: `camera-${at}`, source: { uri: `rtsp://127.0.0.1:9/${path}` }, on_demand: true }))
  return JSON.stringify({ pipelines })
}

/** Stores a new document for hosts; answers the revision of each. */
const change = async (of: readonly string[]): Promise<ReadonlyMap<string, number>> => {
  const js = jetstream(fleet.connection)
  return new Map(
    await Promise.all(of.map(async (name) => [name, (await js.publish(`$KV.vps-desired.${name}`, documentOf(name))).seq] as const)),
  )
}

/** Milliseconds from `since` until each host has applied its revision. */
const untilApplied = async (revisions: ReadonlyMap<string, number>, since: number): Promise<readonly number[]> => {
  const isDone = (): boolean => [...revisions].every(([name, revision]) => (applied.get(name)?.revision ?? -1) >= revision)
  await until(isDone, (done) => done, PATIENCE_MS)
  return [...revisions.keys()].map((name) => (applied.get(name)?.at ?? 0) - since)
}

const converge = async (): Promise<void> => {
  const [all, real]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round += 1) {
    const since = performance.now()
    const times = await untilApplied(await change(names), since)
    all.push(...times)
    real.push(...times.slice(0, realCount))
    await pause(2000)
  }
  say(
    `one change to ${count} hosts, ${ROUNDS} times: p50 ${percentile(all, 0.5).toFixed(0)} ms, p99 ${percentile(all, 0.99).toFixed(0)} ms, longest ${Math.max(...all).toFixed(0)} ms`,
  )
  // Those of this process wait for each other, and for each other's disk.
  say(
    `the ${realCount} with processes of their own: p50 ${percentile(real, 0.5).toFixed(0)} ms, p99 ${percentile(real, 0.99).toFixed(0)} ms`,
  )
  must(percentile(all, 0.99) <= MUST.p99Ms, 'a change takes too long')
}

const average = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length

/** What the agent adds to a host that does nothing. */
const rest = async (alone: FleetHost): Promise<void> => {
  const members = hosts.flatMap(({ pid }) => pid ?? [])
  const own = alone.pid ?? 0
  await pause(15_000)
  const before = { bytes: links[0].bytes() + links[1].bytes(), cpu: [...members, own].map(cpuSeconds) }
  await pause(REST_MS)
  const seconds = REST_MS / 1000
  const bytes = (links[0].bytes() + links[1].bytes() - before.bytes) / seconds / count
  const used = [...members, own].map((pid, at) => (cpuSeconds(pid) - (before.cpu[at] ?? 0)) / seconds)
  const cpu = average(used.slice(0, -1)) - (used.at(-1) ?? 0)
  const memory = average(members.map(privateBytes)) - privateBytes(own)
  say(
    `at rest, a host: ${bytes.toFixed(0)} bytes/s both ways, agent ${(memory / 1e6).toFixed(1)} MB and ${(cpu * 100).toFixed(2)} % of a core`,
  )
  must(bytes <= MUST.bytesPerSecond && memory <= MUST.agentBytes && cpu <= MUST.cpu, 'a host at rest costs too much')
}

/** Each host of this process is changed by a person, which makes events until the change is undone. */
const disturb = async (): Promise<void> => {
  const chosen = hosts.filter(() => random.chance(0.3))
  const body = { source: { uri: 'rtsp://127.0.0.1:9/person' }, on_demand: true }
  await Promise.all(chosen.map(({ request }) => request('POST', '/svc/pipeline', { id: `person-${random.integer(1e6)}`, ...body })))
}

const partition = async (): Promise<void> => {
  const cut = names.filter((_, at) => at % 2 === 0)
  links[0].block()
  const revisions = await change(names)
  for (const end = performance.now() + outageSeconds * 1000; performance.now() < end; ) {
    await disturb()
    await pause(5000)
  }
  const early = cut.filter((name) => applied.get(name)?.revision === revisions.get(name))
  assert.deepEqual(early, [], 'the link was not cut')
  const since = performance.now()
  links[0].heal()
  const times = await untilApplied(new Map(cut.map((name) => [name, revisions.get(name) ?? 0])), since)
  say(
    `${outageSeconds} s without a link for ${cut.length} hosts: changes arrive ${percentile(times, 0.5).toFixed(0)} ms after it, the last after ${Math.max(...times).toFixed(0)} ms`,
  )
  must(Math.max(...times) <= MUST.healedMs, 'changes arrive too late after an outage')
}

const killServer = async (): Promise<void> => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const disturbed = disturb()
    await pause(random.integer(2000))
    await server.kill()
    await disturbed
    await pause(random.integer(5000))
    await server.start()
    await disturb()
  }
  await until(
    () =>
      fleet.connection.flush().then(
        () => true,
        () => false,
      ),
    (done) => done,
    PATIENCE_MS,
  )
  const since = performance.now()
  const times = await untilApplied(await change(names), since)
  say(`the server killed ${ROUNDS} times: all hosts are back, a change reaches them after ${Math.max(...times).toFixed(0)} ms`)
}

const countOf = (id: string): number => Number(id.split('-')[1])

/** Every event is in the stream once, in the order of its host. */
const judgeEvents = async (): Promise<void> => {
  const stored = new Map<string, string[]>(names.map((name) => [name, []]))
  const consumer = await jetstream(fleet.connection).consumers.get('VPS_EVENTS', { filter_subjects: 'vps.events.*.*' })
  const read = async (): Promise<void> => {
    for (;;) {
      const messages = await consumer.fetch({ max_messages: 5000, expires: 2000 })
      let got = 0
      for await (const message of messages) {
        got += 1
        stored.get(message.subject.split('.')[2] ?? '')?.push(message.json<{ id: string }>().id)
      }
      if (got === 0) return
    }
  }
  const isComplete = async (): Promise<boolean> => {
    await read()
    return hosts.every(({ name, published }) => published === undefined || (stored.get(name)?.length ?? 0) >= published.length)
  }
  await until(isComplete, (done) => done, PATIENCE_MS)
  for (const { name, published } of hosts) {
    const ids = stored.get(name) ?? []
    // Events of the start come before this test follows them.
    if (published !== undefined) assert.deepEqual(ids.slice(ids.length - published.length), published, `events of ${name}`)
    for (const [at, id] of ids.entries())
      if (at > 0) assert.ok(countOf(id) > countOf(ids[at - 1] ?? ''), `${name}: ${id} after ${ids[at - 1]}`)
  }
  say(`${[...stored.values()].reduce((sum, ids) => sum + ids.length, 0)} events, each once and in order`)
}

try {
  const alone = await startRealHost('alone', '')
  for (const [at, name] of names.entries()) hosts.push(await (at < realCount ? startRealHost : startStubHost)(name, urlOf(at)))
  // Everybody hears the reports, but only stored ones can be read.
  for (const name of names) await fleet.untilActual(name, () => true, PATIENCE_MS)
  say(`${count} hosts, ${realCount} of them with processes of their own`)
  await converge()
  await rest(alone)
  await partition()
  await killServer()
  await judgeEvents()
  await alone.stop()
} finally {
  subscription.unsubscribe()
  await Promise.allSettled(hosts.map((host) => host.stop()))
  await fleet.close()
  for (const link of links) link.close()
  await server.remove()
}
assert.deepEqual(missed, [])
process.exit()
