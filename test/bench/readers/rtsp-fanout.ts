/**
 * CPU time per delivered Gbit of one 8 Mbit/s stream to many readers, the publisher beside gst-rtsp-server in turns.
 * rtsp-fanout [READERS,…] [ROUNDS] [SECONDS] [tcp|udp] [payload|passthrough]. payload: a child payloads the stream; passthrough: it
 * comes from an RTSP source.
 */
import { join } from 'node:path'
import {
  cpuSeconds,
  quantile,
  rtspLine,
  type ServerKind,
  sleep,
  sourceLine,
  start,
  startRtspFeed,
  startServer,
  startSource,
} from '../../helpers/bench/measure.ts'
import { freePort } from '../../helpers/ports.ts'

const [readerCounts = '1,25,100,200', rounds = '3', seconds = '15', transport = 'tcp', way = 'payload'] = process.argv.slice(2)
const SERVERS: readonly ServerKind[] = way === 'passthrough' ? ['engine', 'gst-rtsp-server'] : ['publisher', 'gst-rtsp-server']

/** A server and what it serves. */
const startBoth = async (kind: ServerKind) => {
  const feed = await freePort()
  if (way === 'passthrough') {
    const source = await startRtspFeed(feed)
    return { source, server: await startServer(kind, await freePort(), kind === 'gst-rtsp-server' ? rtspLine(source.url) : source.url) }
  }
  const server = await startServer(kind, await freePort(), sourceLine(feed))
  return { source: await startSource(feed), server }
}

/** A service runs for years: what counts is the cost when its code is compiled, which takes that long at 30 pictures a second. */
const WARM_UP_MS = 40_000

const measure = async (kind: ServerKind, readers: number) => {
  const { source, server } = await startBoth(kind)
  const load = start(process.execPath, [
    join(import.meta.dirname, '../../helpers/bench/rtsp-load.ts'),
    server.url,
    String(readers),
    transport,
  ])
  const last = () => JSON.parse(load.lines.at(-1) ?? '{}') as { readers: number; bytes: number }
  await load.until((lines) => lines.length > 0 && last().readers === readers)
  await sleep(WARM_UP_MS)
  const sample = () => ({ cpu: server.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0), bytes: last().bytes, at: performance.now() })
  const before = sample()
  await sleep(Number(seconds) * 1000)
  const after = sample()
  await load.stop()
  await server.stop()
  await source.stop()
  const gbit = ((after.bytes - before.bytes) * 8) / 1e9
  return { cpuPerGbit: (after.cpu - before.cpu) / gbit, mbitPerReader: (gbit * 1e6) / (after.at - before.at) / readers }
}

for (const readers of readerCounts.split(',').map(Number)) {
  const results = new Map<ServerKind, number[]>(SERVERS.map((kind) => [kind, []]))
  const rates: string[] = []
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const kind of SERVERS) {
      const { cpuPerGbit, mbitPerReader } = await measure(kind, readers)
      results.get(kind)?.push(cpuPerGbit)
      rates.push(mbitPerReader.toFixed(2))
    }
  }
  const median = (kind: ServerKind): number => quantile(results.get(kind) ?? [], 0.5)
  const theirs = median('gst-rtsp-server')
  const line = {
    readers,
    transport,
    cpu_s_per_gbit: Object.fromEntries(SERVERS.map((kind) => [kind, round3(median(kind))])),
    ratio: Object.fromEntries(SERVERS.slice(0, -1).map((kind) => [kind, round3(median(kind) / theirs)])),
    mbit_per_reader: rates,
  }
  console.log(JSON.stringify(line))
}

function round3(value: number): number {
  return Math.round(value * 1000) / 1000
}
