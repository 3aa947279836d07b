/**
 * Many clients follow the events of one pipeline, beside a plain node:http server that sends the same to as many, in turns: how long a
 * change takes until it has reached a client, and what a client costs. The clients live in this process.
 * sse-fanout [CLIENTS] [CHANGES] [ROUNDS]
 */
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { quantile, sleep, start } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { privateBytes } from '../../helpers/process/processes.ts'

const [clients = 5000, changes = 30, rounds = 3] = process.argv.slice(2).map(Number)
const ID = 'bench'
/** So many connect at once: a listener's backlog is 511. */
const AT_ONCE = 200
/** Between two changes: the one before has reached everybody. */
const PAUSE_MS = 100
const SETTLE_MS = 3000
/** What a client that stays takes is known when the garbage of its coming is gone, if it goes. */
const REST_MS = 25_000

interface Subject {
  readonly name: 'ours' | 'theirs'
  readonly url: string
  readonly pid: number
}

/** One address may have 256 streams. */
const addressOf = (client: number): string => `127.0.0.${1 + Math.floor(client / 200)}`

/** A client that tells each geolocation that it has read; its latitude is the number of the change. */
const follow = (url: string, localAddress: string, onChange: (change: number) => void): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { host, hostname, port } = new URL(url)
    const socket = createConnection({ host: hostname, port: Number(port), localAddress }, () => {
      socket.write(`GET /svc/pipeline/${ID}/status/events HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    })
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const event = text.slice(0, end)
        const latitude = /"latitude":(\d+)/.exec(event)?.[1]
        if (event.includes('pipeline_status')) resolve(socket)
        if (latitude !== undefined) onChange(Number(latitude))
        text = text.slice(end + 2)
      }
    })
    socket.once('error', reject)
  })

const change = async (url: string, latitude: number): Promise<void> => {
  const body = JSON.stringify({ geolocation: { latitude, longitude: 0 } })
  const response = await fetch(`${url}/svc/pipeline/${ID}`, { method: 'PATCH', body })
  if (!response.ok) throw new Error(await response.text())
  await response.arrayBuffer()
}

const measure = async ({ url, pid }: Subject) => {
  const before = privateBytes(pid)
  const delays: number[] = []
  let [sentMs, seen] = [0, 0]
  const all = { reached: (): void => {} }
  const onChange = (): void => {
    delays.push(performance.now() - sentMs)
    seen += 1
    if (seen === clients) all.reached()
  }
  const sockets: Socket[] = []
  for (let at = 0; at < clients; at += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, clients - at) }, (_, more) => follow(url, addressOf(at + more), onChange))
    sockets.push(...(await Promise.all(batch)))
  }
  await sleep(SETTLE_MS)
  // What a new client is told of the present state counts for nobody.
  delays.length = 0
  for (let number = 1; number <= changes; number += 1) {
    seen = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    all.reached = resolve
    sentMs = performance.now()
    await Promise.all([change(url, number), promise])
    await sleep(PAUSE_MS)
  }
  await sleep(REST_MS)
  const kbEach = (privateBytes(pid) - before) / 1024 / clients
  for (const socket of sockets) socket.destroy()
  await sleep(SETTLE_MS)
  return { p50: quantile(delays, 0.5), p99: quantile(delays, 0.99), kbEach }
}

type Figures = Awaited<ReturnType<typeof measure>>

const found: Record<Subject['name'], Figures[]> = { ours: [], theirs: [] }
for (let round = 0; round < rounds; round += 1) {
  // Each in processes of its own: memory that was used once is not given back at once.
  await withService(async (service) => {
    await createPipeline(service, { id: ID, on_demand: true, source: { uri: 'test://ball' } })
    found.ours.push(await measure({ name: 'ours', url: service.url, pid: service.pid }))
  })
  const peer = start(process.execPath, [join(import.meta.dirname, '../../helpers/bench/sse-server.ts')])
  await peer.until((lines) => lines.length > 0)
  found.theirs.push(await measure({ name: 'theirs', url: peer.lines[0]?.split(' ')[1] ?? '', pid: peer.pid }))
  await peer.stop()
}
for (const [field, digits] of [
  ['p50', 1],
  ['p99', 1],
  ['kbEach', 2],
] as const) {
  const range = (name: Subject['name']) =>
    [0.5, 0, 1].map((part) =>
      Number(
        quantile(
          found[name].map((figures) => figures[field]),
          part,
        ).toFixed(digits),
      ),
    )
  const [ours, theirs] = [range('ours'), range('theirs')]
  console.log(
    JSON.stringify({
      row: `${clients} clients, ${field}`,
      median_min_max: { ours, theirs },
      ratio: Number(((ours[0] ?? 0) / (theirs[0] ?? 1)).toFixed(2)),
    }),
  )
}
