/**
 * A million mutated ST 0601 packets through the decoder, the stream reader and the MPEG-TS walk. klv-fuzz [COUNT] [SEED]
 * Fails on a throw, on a single packet that takes longer than a second and on memory that grows.
 */

import { encodePacket } from '../../engine/klv/st0601/encode.ts'
import { geolocationOf } from '../../engine/klv/st0601/geolocation.ts'
import { klvPacketJson } from '../../engine/klv/st0601/json.ts'
import { decodePacket } from '../../engine/klv/st0601/packet.ts'
import { KlvStreamParser } from '../../engine/klv/st0601/stream-parser.ts'
import { KlvDemuxer } from '../../engine/mpegts/klv-demuxer.ts'
import { flightItems, resealed } from '../fixtures/klv/local-set.ts'
import { mutate, seededRandom } from '../fixtures/klv/random.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_ONLY } from '../fixtures/klv/st0902-packets.ts'
import { DESCRIPTORS, TsMuxer } from '../fixtures/klv/ts-muxer.ts'

const count = Number(process.argv[2] ?? 1_000_000)
const seed = Number(process.argv[3] ?? 1)
const random = seededRandom(seed)
const good = [DYNAMIC_CONSTANT, DYNAMIC_ONLY, encodePacket(flightItems(1))]
const stream = new KlvStreamParser()
const tsStream = new KlvStreamParser()
const ts = new KlvDemuxer()
const outcomes: Record<string, number> = {}
let slowest = 0
let mostBuffered = 0

const heap = (): number => {
  globalThis.gc?.()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

const one = (i: number): void => {
  const bad = mutate(good[i % good.length] ?? DYNAMIC_ONLY, random)
  const bytes = i % 2 === 0 ? bad : resealed(bad)
  const packet = decodePacket(bytes)
  const outcome = typeof packet === 'string' ? packet : 'packet'
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  if (typeof packet !== 'string') {
    geolocationOf(packet)
    klvPacketJson(packet, { pipelineId: 'fuzz', receivedAt: 0, now: 0 })
  }
  const cut = random(bytes.length + 1)
  stream.push(bytes.subarray(0, cut))
  stream.push(bytes.subarray(cut))
  mostBuffered = Math.max(mostBuffered, stream.bufferedBytes)
  if (i % 10 === 0) transport(i, i % 40 === 0 ? bytes : DYNAMIC_CONSTANT)
}

const transport = (i: number, klv: Uint8Array): void => {
  const mux = new TsMuxer()
  const kind = i % 20 === 0 ? 'synchronous' : 'asynchronous'
  const parts = [...mux.tables(kind === 'synchronous' ? 0x15 : 0x06, DESCRIPTORS[kind]), ...mux[kind](i, klv)]
  for (const unit of ts.push(mutate(Uint8Array.from(parts), random))) tsStream.push(unit.bytes)
}

const before: number[] = []
for (let i = 0; i < count; i++) {
  const start = performance.now()
  one(i)
  slowest = Math.max(slowest, performance.now() - start)
  if (i % Math.ceil(count / 10) === 0) before.push(heap())
}
before.push(heap())

const megabytes = before.map((bytes) => (bytes / 2 ** 20).toFixed(1))
console.log({ count, seed, outcomes, stream: stream.counters, mostBuffered, ts: ts.counters, tsStream: tsStream.counters })
console.log(`slowest packet ${slowest.toFixed(1)} ms; heap and buffers in MB at every tenth: ${megabytes.join(' ')}`)
const grown = (before.at(-1) ?? 0) - (before[1] ?? 0)
if (slowest > 1000 || grown > 16 * 2 ** 20) {
  console.error(`Too slow or memory grew by ${grown} bytes`)
  process.exitCode = 1
}
