/**
 * Many passthrough pipelines at once, each with a reader: CPU, memory of the sidecar per pipeline and per child, lost packets.
 * many-pipelines [PIPELINES] [SECONDS]: with the engine reading the source, and with a child for each.
 */

import { readFileSync } from 'node:fs'
import { cpuSeconds, sleep } from '../helpers/bench/measure.ts'
import { createPipeline, withService } from '../helpers/bench/service-run.ts'
import { childrenOf, residentBytes } from '../helpers/process/processes.ts'
import type { Service } from '../helpers/process/service.ts'
import { openReader, sequenceGaps } from '../helpers/rtsp/reader.ts'
import { startRtspSource } from '../helpers/rtsp/source.ts'

const count = Number(process.argv[2] ?? 20)
const seconds = Number(process.argv[3] ?? 20)
const MB = 1024 * 1024

/** Memory that only this process has, bytes. */
const privateBytes = (pid: number): number =>
  [...readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce(
    (sum, [, kb]) => sum + Number(kb) * 1024,
    0,
  )

const measure = async (service: Service, reader: string) => {
  const engine = service.enginePid()
  const [emptyBytes, emptyPrivate] = [residentBytes(engine), privateBytes(engine)]
  const outputs: string[] = []
  for (let index = 0; index < count; index += 1) {
    outputs.push(await createPipeline(service, { id: `many-${index}`, source: { uri: source.url('/h264'), latency_ms: 0 } }))
  }
  const readers = await Promise.all(outputs.map((url) => openReader(url)))
  await sleep(2000)
  const children = childrenOf(engine).map(({ pid }) => pid)
  const cpuBefore = { engine: cpuSeconds(engine), children: children.reduce((sum, pid) => sum + cpuSeconds(pid), 0) }
  const packetsBefore = readers.reduce((sum, reader) => sum + reader.count, 0)
  await sleep(seconds * 1000)
  const cpu = {
    engine: cpuSeconds(engine) - cpuBefore.engine,
    children: children.reduce((sum, pid) => sum + cpuSeconds(pid), 0) - cpuBefore.children,
  }
  const packets = readers.reduce((sum, reader) => sum + reader.count, 0) - packetsBefore
  const gaps = readers.reduce((sum, reader) => sum + sequenceGaps(reader.packets).length, 0)
  const restarts = (await service.request('GET', '/svc/pipeline')).body.reduce(
    (sum: number, { runtime }: { runtime: { restarts: number } }) => sum + runtime.restarts,
    0,
  )
  for (const reader of readers) await reader.close()
  return {
    reader,
    pipelines: readers.length,
    children: children.length,
    engine_cpu_percent: Math.round((cpu.engine / seconds) * 1000) / 10,
    child_cpu_percent_each: Math.round((cpu.children / seconds / count) * 1000) / 10,
    engine_mb_per_pipeline: Math.round(((residentBytes(engine) - emptyBytes) / MB / count) * 100) / 100,
    engine_private_mb_per_pipeline: Math.round(((privateBytes(engine) - emptyPrivate) / MB / count) * 100) / 100,
    engine_mb_empty: Math.round(emptyBytes / MB),
    child_private_mb: Math.round((children.reduce((sum, pid) => sum + privateBytes(pid), 0) / MB / count) * 10) / 10,
    packets,
    sequence_gaps: gaps,
    restarts,
  }
}

const source = await startRtspSource()
for (const reader of ['engine', 'child']) {
  console.log(JSON.stringify(await withService((service) => measure(service, reader), { SVC_RTSP_READER: reader })))
}
await source.stop()
