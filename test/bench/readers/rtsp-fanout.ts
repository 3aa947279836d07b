/**
 * CPU time per delivered Gbit of one RTSP source of 8 Mbit/s that passes through to many readers: the whole service (API and engine, as
 * built), beside gst-rtsp-server with the cheapest line that does the job, in turns.
 * rtsp-fanout [READERS,…] [ROUNDS] [SECONDS] [tcp|udp] [BYTES,…] [warm|cold]. BYTES: sizes of the RTP packets of the source, each
 * measured by itself; those above 1,460 come as one frame over TCP. warm: readers are added to a server that has had one for 40 s;
 * cold: the first seconds of a fresh service, for each number of readers anew.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Program, quantile, rtspLine, type Server, sleep, start, startRtspFeed, startServer } from '../../helpers/bench/measure.ts'
import { createPipeline } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'
import { runSeconds } from '../../helpers/process/processes.ts'
import { startService } from '../../helpers/process/service.ts'

const [numbers = '1,25,100,200', rounds = '1', seconds = '10', transport = 'tcp', sizes = '1200,1388,1412,1460,60000', way = 'warm'] =
  process.argv.slice(2)
const counts = numbers.split(',').map(Number)

/** A service runs for years: what counts is the cost when its code is compiled, which takes that long at 30 pictures a second. */
const WARM_UP_MS = 40_000
/** From the last reader's PLAY to the measurement: the cached GOP is written. */
const SETTLE_MS = 2_000

const startOurs = async (source: string): Promise<Server> => {
  const dataDir = mkdtempSync(join(tmpdir(), 'bench-'))
  const service = await startService({ dataDir })
  const url = await createPipeline(service, { id: 'bench', source: { uri: source } })
  const stop = async () => {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { url, pids: [service.pid, service.enginePid()], stop }
}

const SERVERS = {
  ours: startOurs,
  theirs: async (source: string) => startServer('gst-rtsp-server', await freePort(), rtspLine(source)),
} as const
type Measured = keyof typeof SERVERS

/** Opens as many more readers; answers the bytes that all of them have received when they play. */
const addReaders = async (loads: Program[], url: string, count: number): Promise<() => number> => {
  const load = start(process.execPath, [join(import.meta.dirname, '../../helpers/bench/rtsp-load.ts'), url, String(count), transport])
  loads.push(load)
  const last = (lines: readonly string[]) => JSON.parse(lines.at(-1) ?? '{}') as { readers: number; bytes: number }
  await load.until((lines) => lines.length > 0 && last(lines).readers === count)
  return () => loads.reduce((sum, { lines }) => sum + last(lines).bytes, 0)
}

interface Figure {
  readonly cpuPerGbit: number
  readonly mbitPerReader: number
}

/** Measures each number of readers, rising, on one server. */
const measure = async (kind: Measured, packetBytes: number, rising: readonly number[]): Promise<Figure[]> => {
  const source = await startRtspFeed(await freePort(), packetBytes)
  const server = await SERVERS[kind](source.url)
  const loads: Program[] = []
  const figures: Figure[] = []
  let readers = way === 'cold' ? 0 : 1
  if (way !== 'cold') {
    await addReaders(loads, server.url, 1)
    await sleep(WARM_UP_MS)
  }
  for (const count of rising) {
    const received = await addReaders(loads, server.url, count - readers)
    readers = count
    if (way !== 'cold') await sleep(SETTLE_MS)
    const sample = () => ({ cpu: server.pids.reduce((sum, pid) => sum + runSeconds(pid), 0), bytes: received(), at: performance.now() })
    const before = sample()
    await sleep(Number(seconds) * 1000)
    const after = sample()
    const gbit = ((after.bytes - before.bytes) * 8) / 1e9
    figures.push({ cpuPerGbit: (after.cpu - before.cpu) / gbit, mbitPerReader: (gbit * 1e6) / (after.at - before.at) / count })
  }
  for (const load of loads) await load.stop()
  await server.stop()
  await source.stop()
  return figures
}

const rounded = (value: number): number => Math.round(value * 1000) / 1000

const worst = new Map<number, number>()
for (const packetBytes of sizes.split(',').map(Number)) {
  const found = counts.map((): Record<Measured, Figure[]> => ({ ours: [], theirs: [] }))
  for (let round = 0; round < Number(rounds); round += 1) {
    for (const kind of ['ours', 'theirs'] as const) {
      const runs = way === 'cold' ? counts.map((count) => [count]) : [counts]
      const figures: Figure[] = []
      for (const rising of runs) figures.push(...(await measure(kind, packetBytes, rising)))
      for (const [at, figure] of figures.entries()) found[at]?.[kind].push(figure)
    }
  }
  for (const [at, readers] of counts.entries()) {
    const median = (kind: Measured) =>
      rounded(
        quantile(
          (found[at]?.[kind] ?? []).map(({ cpuPerGbit }) => cpuPerGbit),
          0.5,
        ),
      )
    const rates = (kind: Measured) => (found[at]?.[kind] ?? []).map(({ mbitPerReader }) => rounded(mbitPerReader))
    const [ours, theirs] = [median('ours'), median('theirs')]
    const ratio = rounded(ours / theirs)
    worst.set(readers, Math.max(worst.get(readers) ?? 0, ratio))
    console.log(
      JSON.stringify({
        readers,
        transport,
        way,
        packet_bytes: packetBytes,
        ours,
        theirs,
        ratio,
        mbit: { ours: rates('ours'), theirs: rates('theirs') },
      }),
    )
  }
}
for (const [readers, ratio] of worst) console.log(JSON.stringify({ readers, transport, way, worst_ratio: ratio }))
