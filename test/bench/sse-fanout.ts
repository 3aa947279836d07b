/**
 * Many clients follow the events of one pipeline: how long until a change has reached all of them, and what they cost.
 * sse-fanout [CLIENTS] [CHANGES] [ROUNDS]
 * The service runs as it is built; the clients live in this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const CLIENTS = Number(process.argv[2] ?? 1000)
const CHANGES = Number(process.argv[3] ?? 50)
const ROUNDS = Number(process.argv[4] ?? 3)
const ID = 'bench'

interface Service {
  readonly child: ChildProcess
  readonly port: number
}

const startService = (dataDir: string): Promise<Service> =>
  new Promise((resolveService, reject) => {
    const child = spawn(process.execPath, [resolve(import.meta.dirname, '../../dist/node.js')], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, SVC_PORT: '0', SVC_DATA_DIR: dataDir },
    })
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}`)))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      const ready = text.split('\n').find((line) => line.includes('"service_ready"'))
      if (ready !== undefined) resolveService({ child, port: Number(new URL((JSON.parse(ready) as { url: string }).url).port) })
    })
  })

/** One address may have 256 streams. */
const addressOf = (client: number): string => `127.0.0.${1 + Math.floor(client / 200)}`

/** A client that notes when it has seen each geolocation; its latitude is the number of the change. */
const follow = (port: number, localAddress: string, onChange: (change: number) => void): Promise<Socket> =>
  new Promise((resolveSocket, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port, localAddress }, () => {
      socket.write(`GET /svc/pipeline/${ID}/status/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
    })
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const latitude = /"latitude":(\d+)/.exec(text.slice(0, end))?.[1]
        if (text.slice(0, end).includes('pipeline_status')) resolveSocket(socket)
        if (latitude !== undefined) onChange(Number(latitude))
        text = text.slice(end + 2)
      }
    })
    socket.once('error', reject)
  })

const ask = async (port: number, method: string, path: string, body?: unknown): Promise<Response> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return response
}

const readMetrics = async (port: number): Promise<(name: string) => number> => {
  const text = await (await ask(port, 'GET', '/svc/metrics')).text()
  return (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0

const memory = async (port: number, label: string): Promise<{ rss: number; heap: number }> => {
  const read = await readMetrics(port)
  const found = { rss: read('svc_api_process_resident_memory_bytes'), heap: read('svc_api_nodejs_heap_size_used_bytes') }
  const line = `clients ${read('svc_sse_clients')}, RSS ${(found.rss / 2 ** 20).toFixed(1)} MiB, heap used ${(found.heap / 2 ** 20).toFixed(1)} MiB`
  process.stdout.write(`${label}: ${line}, open fds ${read('svc_api_process_open_fds')}\n`)
  return found
}

const untilClients = async (port: number, count: number): Promise<void> => {
  while ((await readMetrics(port))('svc_sse_clients') !== count) await new Promise((resolveWait) => setTimeout(resolveWait, 50))
}

const main = async (): Promise<void> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sse-'))
  const { child, port } = await startService(dataDir)
  try {
    const source = { uri: 'test://ball' }
    await ask(port, 'POST', '/svc/pipeline', { id: ID, mode: 'simple', on_demand: true, source })
    await memory(port, 'at the start')
    for (let round = 1; round <= ROUNDS; round += 1) await measureRound(port, round)
  } finally {
    child.removeAllListeners('exit')
    child.kill('SIGTERM')
    await new Promise((resolveExit) => child.once('exit', resolveExit))
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const measureRound = async (port: number, round: number): Promise<void> => {
  const before = await memory(port, `round ${round}, nobody`)
  const waiting = new Map<number, { left: number; sentAt: number; first: number; done: (last: number) => void }>()
  const onChange = (change: number): void => {
    const wait = waiting.get(change)
    if (wait === undefined) return
    const delay = performance.now() - wait.sentAt
    if (wait.left === CLIENTS) wait.first = delay
    wait.left -= 1
    if (wait.left === 0) wait.done(delay)
  }
  const began = performance.now()
  const sockets = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => follow(port, addressOf(at), onChange)))
  process.stdout.write(`round ${round}: all greeted after ${Math.round(performance.now() - began)} ms\n`)
  const during = await memory(port, `round ${round}, all there`)
  const lasts: number[] = []
  for (let change = 1; change <= CHANGES; change += 1) {
    const number = (change % 80) + 1
    const last = new Promise<number>((done) => waiting.set(number, { left: CLIENTS, sentAt: performance.now(), first: 0, done }))
    await ask(port, 'PATCH', `/svc/pipeline/${ID}`, { geolocation: { latitude: number, longitude: 0 } })
    lasts.push(await last)
  }
  const after = await memory(port, `round ${round}, after ${CHANGES} changes`)
  const sorted = lasts.toSorted((one, other) => one - other)
  const ms = (value: number): string => value.toFixed(1)
  process.stdout.write(
    `round ${round}: request until the last client has the event, ms: median ${ms(quantile(sorted, 0.5))}, p95 ${ms(quantile(sorted, 0.95))}, ` +
      `max ${ms(sorted.at(-1) ?? 0)}; per client ${((during.rss - before.rss) / CLIENTS / 1024).toFixed(1)} KiB RSS, ` +
      `${((after.heap - before.heap) / CLIENTS / 1024).toFixed(1)} KiB heap\n`,
  )
  for (const socket of sockets) socket.destroy()
  await untilClients(port, 0)
  await memory(port, `round ${round}, all gone`)
}

await main()
