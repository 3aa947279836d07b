/**
 * CPU time per delivered Gbit of one 8 Mbit/s stream to many readers, the publisher beside gst-rtsp-server in turns.
 * rtsp-fanout [READERS,…] [ROUNDS] [SECONDS] [tcp|udp]
 */
import { join } from 'node:path'
import { cpuSeconds, quantile, sleep, sourceLine, start, startServer, startSource } from '../helpers/bench/measure.ts'
import { freePort } from '../helpers/rtsp/media.ts'

const [readerCounts = '1,25,100,200', rounds = '3', seconds = '6', transport = 'tcp'] = process.argv.slice(2)
const SERVERS = ['publisher', 'gst-rtsp-server'] as const

const measure = async (kind: (typeof SERVERS)[number], readers: number) => {
  const feed = await freePort()
  const server = await startServer(kind, await freePort(), sourceLine(feed))
  const source = await startSource(feed)
  const load = start(process.execPath, [join(import.meta.dirname, '../helpers/bench/rtsp-load.ts'), server.url, String(readers), transport])
  const last = () => JSON.parse(load.lines.at(-1) ?? '{}') as { readers: number; bytes: number }
  await load.until((lines) => lines.length > 0 && last().readers === readers)
  await sleep(3000)
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
  const results = { publisher: [] as number[], 'gst-rtsp-server': [] as number[] }
  const rates: string[] = []
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const kind of SERVERS) {
      const { cpuPerGbit, mbitPerReader } = await measure(kind, readers)
      results[kind].push(cpuPerGbit)
      rates.push(mbitPerReader.toFixed(2))
    }
  }
  const ours = quantile(results.publisher, 0.5)
  const theirs = quantile(results['gst-rtsp-server'], 0.5)
  const line = {
    readers,
    transport,
    cpu_s_per_gbit: { publisher: round3(ours), gst_rtsp_server: round3(theirs) },
    ratio: round3(ours / theirs),
    mbit_per_reader: rates,
  }
  console.log(JSON.stringify(line))
}

function round3(value: number): number {
  return Math.round(value * 1000) / 1000
}
