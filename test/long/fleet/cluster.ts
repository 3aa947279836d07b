/**
 * A fleet at a cluster of three NATS servers that loses the leader of its stores, again and again (SIGKILL): changes go on to arrive, and
 * each event is stored once and in order. cluster [HOSTS = 20] [LOSSES = 6] [SEED = 37]
 */
import assert from 'node:assert/strict'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { type FleetView, openFleetView } from '../../helpers/nats/fleet.ts'
import { type FleetHost, startStubHost } from '../../helpers/nats/fleet-hosts.ts'
import { type NatsServer, startNatsServer } from '../../helpers/nats/nats-server.ts'
import { freePort } from '../../helpers/ports.ts'
import { createRandom } from '../../helpers/random.ts'
import { until } from '../../helpers/until.ts'

const [count = 20, losses = 6, seed = 37] = process.argv.slice(2).map(Number)
const random = createRandom(seed)
const PATIENCE_MS = 90_000
const say = (text: string): void => console.log(text)

const ports = await Promise.all([freePort(), freePort(), freePort()])
const routePorts = await Promise.all([freePort(), freePort(), freePort()])
const routes = routePorts.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')
const servers = new Map<string, NatsServer>()
for (const [at, port] of ports.entries()) {
  const configuration = `server_name: n${at}\ncluster { name: fleet, listen: "127.0.0.1:${routePorts[at]}", routes: [ ${routes} ] }`
  servers.set(`n${at}`, await startNatsServer(configuration, port))
}
const urls = [...servers.values()].map(({ url }) => url)
const hosts: FleetHost[] = []
let fleet: FleetView | undefined

/** The server that leads a stream; undefined during an election. */
const leaderOf = async (view: FleetView, stream: string): Promise<string | undefined> => {
  try {
    const manager = await jetstreamManager(view.connection, { timeout: 1000 })
    return (await manager.streams.info(stream)).cluster?.leader
  } catch {
    return undefined
  }
}

const documentOf = (round: number): string =>
  JSON.stringify({ pipelines: [{ id: 'camera', source: { uri: `rtsp://127.0.0.1:9/${round}` }, on_demand: true }] })

/** Stores a document until the cluster has taken it; answers its revision. */
const store = (view: FleetView, name: string, text: string): Promise<number> =>
  until(
    () =>
      jetstream(view.connection, { timeout: 1000 })
        .publish(`$KV.vps-desired.${name}`, text)
        .then(
          ({ seq }) => seq,
          () => 0,
        ),
    (revision) => revision > 0,
    PATIENCE_MS,
  )

/** How long the servers take to store a document for every host, and how much later the last host reports that it has applied it. */
const change = async (view: FleetView, round: number): Promise<string> => {
  const since = performance.now()
  let stored = since
  await Promise.all(
    hosts.map(async ({ name }) => {
      const revision = await store(view, name, documentOf(round))
      stored = performance.now()
      await view.untilActual(name, ({ applied_revision }) => applied_revision >= revision, PATIENCE_MS)
    }),
  )
  return `${(stored - since).toFixed(0)} ms until it is stored, ${(performance.now() - stored).toFixed(0)} until it is reported`
}

/** Whether a stream has three copies, and all of them are complete. */
const isWhole = async (view: FleetView, stream: string): Promise<boolean> => {
  const manager = await jetstreamManager(view.connection, { timeout: 1000 })
  const { cluster } = await manager.streams.info(stream)
  return cluster?.replicas?.length === 2 && cluster.replicas.every(({ current, offline }) => current && offline !== true)
}

const judgeEvents = async (view: FleetView): Promise<void> => {
  for (const { name, published } of hosts) {
    const expected = published ?? []
    const ids = await until(
      async () => (await view.events(name)).map(({ message }) => message.id as string),
      (stored) => expected.every((id) => stored.includes(id)),
      PATIENCE_MS,
    )
    assert.deepEqual(ids.slice(ids.length - expected.length), expected, `events of ${name}`)
    assert.equal(new Set(ids).size, ids.length, `events of ${name}`)
  }
  say('each event once and in order')
}

try {
  fleet = await openFleetView(urls.join(','))
  const view = fleet
  const all = urls.map((_, at) => urls[(at + 1) % urls.length]).join(',')
  for (let at = 0; at < count; at += 1) hosts.push(await startStubHost(`host-${at}`, all))
  for (const { name } of hosts) await view.untilActual(name, () => true, PATIENCE_MS)
  const streams = ['KV_vps-desired', 'KV_vps-actual', 'VPS_EVENTS']
  for (const stream of streams) {
    const { config } = await (await jetstreamManager(view.connection)).streams.info(stream)
    assert.equal(config.num_replicas, 3, stream)
  }
  say(`${count} hosts at three servers, with three copies: a change takes ${await change(view, 0)}`)
  for (let round = 1; round <= losses; round += 1) {
    const stream = random.pick(streams)
    const name = await until(
      () => leaderOf(view, stream),
      (leader) => leader !== undefined,
      PATIENCE_MS,
    )
    const lost = servers.get(name ?? '')
    assert(lost !== undefined, `no server ${name}`)
    await lost.kill()
    say(`the leader of ${stream} (${name}) is lost: a change takes ${await change(view, round)}`)
    await lost.start()
    // Else the next loss may take one of the two copies that are left.
    await until(
      () =>
        Promise.all(streams.map((one) => isWhole(view, one))).then(
          (whole) => whole.every((is) => is),
          () => false,
        ),
      (whole) => whole,
      PATIENCE_MS,
    )
  }
  await judgeEvents(view)
} finally {
  await Promise.allSettled(hosts.map((host) => host.stop()))
  await fleet?.close()
  for (const server of servers.values()) await server.remove()
}
process.exit()
