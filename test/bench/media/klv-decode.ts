/**
 * ST 0601 packets per CPU second, decoded to typed values. klv-decode [PATH OF ANOTHER DECODER]
 * The other decoder is a CommonJS module with `parse(bytes)` (st0601.js of misb.js is one); it runs in turn with ours on the same packets.
 */
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { encodePacket } from '../../../engine/klv/st0601/encode.ts'
import { klvPacketJson } from '../../../engine/klv/st0601/json.ts'
import { decodePacket } from '../../../engine/klv/st0601/packet.ts'
import { KlvStreamParser } from '../../../engine/klv/st0601/stream-parser.ts'
import { flightPacket } from '../../../engine/klv/st0601/synthetic-flight.ts'
import { flightItems } from '../../fixtures/klv/local-set.ts'
import { DYNAMIC_CONSTANT } from '../../fixtures/klv/st0902-packets.ts'

const ROUNDS = 3
const ROUND_CPU_MICROSECONDS = 700_000

type Decode = (bytes: Uint8Array) => unknown

// Buffers, because other decoders for Node call Buffer's methods; ours takes any Uint8Array.
const PACKETS: Readonly<Record<string, readonly Uint8Array[]>> = {
  'synthetic, 10 tags, 70 bytes': Array.from({ length: 40 }, (_, i) => Buffer.from(encodePacket(flightItems(i)))),
  'ST 0902 example, 25 tags, 228 bytes': [Buffer.from(DYNAMIC_CONSTANT)],
  'synthetic flight, 24 tags, 155 bytes': Array.from({ length: 40 }, (_, i) => Buffer.from(flightPacket(i * 100))),
}

const asJson: Decode = (bytes) => {
  const packet = decodePacket(bytes)
  return typeof packet === 'string' ? packet : JSON.stringify(klvPacketJson(packet, { pipelineId: 'bench', receivedAt: 0, now: 0 }))
}

const otherDecoder = (): Decode | null => {
  const path = process.argv[2]
  if (path === undefined) return null
  const module: unknown = createRequire(import.meta.url)(resolve(path))
  const parse = typeof module === 'object' && module !== null && 'parse' in module ? module.parse : null
  if (typeof parse !== 'function') throw new Error(`${path} exports no parse(bytes)`)
  return (bytes) => parse(bytes)
}

/** Packets per second of user and system CPU. */
const rate = (decode: Decode, packets: readonly Uint8Array[]): number => {
  const start = process.cpuUsage()
  let count = 0
  for (;;) {
    for (let i = 0; i < 400; i++) decode(packets[count++ % packets.length] ?? DYNAMIC_CONSTANT)
    const { user, system } = process.cpuUsage(start)
    if (user + system > ROUND_CPU_MICROSECONDS) return (count / (user + system)) * 1e6
  }
}

const stream = new KlvStreamParser()
const other = otherDecoder()
const decoders: Readonly<Record<string, Decode>> = {
  decodePacket,
  'KlvStreamParser.push': (bytes) => stream.push(bytes),
  'decodePacket + JSON': asJson,
  ...(other === null ? {} : { other }),
}

for (const [kind, packets] of Object.entries(PACKETS)) {
  const rates = new Map<string, number[]>()
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, decode] of Object.entries(decoders)) {
      const measured = rate(decode, packets)
      // Round 0 is the warm-up.
      if (round > 0) rates.set(name, [...(rates.get(name) ?? []), measured])
    }
  for (const [name, values] of rates) {
    const median = values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
    console.log(`${kind}: ${name}: ${Math.round(median / 1000)} k packets per CPU second`)
  }
}
