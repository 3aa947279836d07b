/**
 * Many passthrough pipelines at once, each with a reader: CPU, memory of the engine per pipeline and per child, lost packets. The whole
 * service, and gst-rtsp-server in one process, in turns.
 * many-pipelines [PIPELINES] [SECONDS] [ROUNDS]
 */
import { join } from 'node:path'
import { cpuSeconds, quantile, rtspLine, sleep, start } from '../../helpers/bench/measure.ts'
import { createPipeline, withService } from '../../helpers/bench/service-run.ts'
import { freePort } from '../../helpers/ports.ts'
import { childrenOf, privateBytes } from '../../helpers/process/processes.ts'

import { openReader, sequenceGaps } from '../../helpers/rtsp/reader.ts'
import { startRtspSource } from '../../helpers/rtsp/source.ts'

const [count = 20, seconds = 20, rounds = 3] = process.argv.slice(2).map(Number)
const WARM_UP_MS = 10_000
const MB = 1024 * 1024

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Readers of all outputs for some time: the CPU seconds of the processes meanwhile, and what the readers got. */
const watch = async (outputs: readonly string[], pids: () => readonly number[]) => {
  const readers = await Promise.all(outputs.map((url) => openReader(url)))
  await sleep(WARM_UP_MS)
  const measured = pids()
  const cpu = () => sum(measured.map(cpuSeconds))
  const packets = () => sum(readers.map((reader) => reader.count))
  const before = { cpu: cpu(), packets: packets() }
  const begun = readers.map((reader) => reader.packets.length)
  await sleep(seconds * 1000)
  const result = {
    cpu_percent: ((cpu() - before.cpu) / seconds) * 100,
    packets: packets() - before.packets,
    // Those of the start are of the source: gst-rtsp-server begins anew when another client joins.
    sequence_gaps: sum(readers.map((reader, at) => sequenceGaps(reader.packets.slice(begun[at])).length)),
    private_mb: sum(measured.map(privateBytes)) / MB,
  }
  for (const reader of readers) await reader.close()
  return result
}

const source = await startRtspSource()

const ours = () =>
  withService(async (service) => {
    const engine = service.enginePid()
    const pids = () => [service.pid, engine, ...childrenOf(engine).map(({ pid }) => pid)]
    const output = (index: number) => createPipeline(service, { id: `many-${index}`, source: { uri: source.url('/h264'), latency_ms: 0 } })
    const outputs = [await output(0)]
    const one = await watch(outputs, pids)
    for (let index = 1; index < count; index += 1) outputs.push(await output(index))
    const all = await watch(outputs, pids)
    return { ...all, private_mb_per_further_pipeline: (all.private_mb - one.private_mb) / (count - 1) }
  })

const theirs = async () => {
  const port = await freePort()
  const server = start('/usr/bin/python3', [
    join(import.meta.dirname, '../../fixtures/gst-rtsp-server.py'),
    ...[String(port), 'many', rtspLine(source.url('/h264')), String(count)],
  ])
  await server.until((lines) => lines.includes('ready'))
  const outputs = Array.from({ length: count }, (_, at) => `rtsp://127.0.0.1:${port}/many-${at}`)
  const all = await watch(outputs, () => [server.pid])
  await server.stop()
  return all
}

const SUBJECTS = { engine: ours, 'gst-rtsp-server': theirs }
const found = new Map<string, Awaited<ReturnType<typeof theirs>>[]>()
for (let round = 0; round < rounds; round += 1) {
  for (const [name, measure] of Object.entries(SUBJECTS)) found.set(name, [...(found.get(name) ?? []), await measure()])
}
const median = (name: string, field: string): number =>
  quantile(
    (found.get(name) ?? []).map((result) => (result as unknown as Record<string, number>)[field] ?? Number.NaN),
    0.5,
  )
const round = (value: number): number => Number(value.toFixed(2))
for (const name of found.keys()) {
  const fields = ['cpu_percent', 'private_mb', 'private_mb_per_further_pipeline', 'packets', 'sequence_gaps']
  const values = fields.map((field) => [field, median(name, field)] as const).filter(([, value]) => Number.isFinite(value))
  const ratio = median(name, 'cpu_percent') / median('gst-rtsp-server', 'cpu_percent')
  console.log(
    JSON.stringify({
      name,
      pipelines: count,
      ...Object.fromEntries(values.map(([field, value]) => [field, round(value)])),
      ratio: round(ratio),
    }),
  )
}
await source.stop()
