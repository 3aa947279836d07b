import { describe, expect, it } from 'vitest'
import { KlvDemuxer } from '../../../../engine/mpegts/klv-demuxer.ts'
import { encodePacket } from '../../../../lib/st0601/encode.ts'
import { klvFeature, klvPacketJson } from '../../../../lib/st0601/json.ts'
import { decodePacket } from '../../../../lib/st0601/packet.ts'
import { KlvStreamParser } from '../../../../lib/st0601/stream-parser.ts'
import { flightItems, resealed } from '../../../fixtures/klv/local-set.ts'
import { mutate, seededRandom } from '../../../fixtures/klv/random.ts'
import { DYNAMIC_CONSTANT, DYNAMIC_ONLY } from '../../../fixtures/klv/st0902-packets.ts'
import { DESCRIPTORS, TsMuxer } from '../../../fixtures/klv/ts-muxer.ts'
import { rounds } from '../../../helpers/random.ts'

const GOOD = [DYNAMIC_CONSTANT, DYNAMIC_ONLY, encodePacket(flightItems(3))] as const
const arrival = { pipelineId: 'fuzz', receivedAt: 0, now: 1 }

describe('mutated packets', () => {
  it('are decoded or rejected without throwing, also with a corrected checksum', () => {
    const random = seededRandom(1)
    const seen = new Set<string>()
    for (let i = 0; i < rounds(30_000); i++) {
      const bytes = mutate(GOOD[i % GOOD.length] ?? DYNAMIC_ONLY, random)
      const packet = decodePacket(i % 2 === 0 ? bytes : resealed(bytes))
      seen.add(typeof packet === 'string' ? packet : 'packet')
      if (typeof packet === 'string') continue
      for (const item of packet.items) {
        expect(item.start).toBeGreaterThanOrEqual(18)
        expect(item.end).toBeLessThanOrEqual(packet.bytes.length)
        if (typeof item.value === 'number') expect(Number.isFinite(item.value)).toBe(true)
      }
      if (i % 10 === 1) expect(JSON.stringify([klvPacketJson(packet, arrival), klvFeature(packet, arrival)])).toContain('"fuzz"')
    }
    expect([...seen].sort()).toEqual(['bad_checksum', 'malformed', 'not_st0601', 'packet', 'truncated'])
  })

  it('in a stream do not hide the valid packets after them', () => {
    const random = seededRandom(2)
    const max = 8192
    const stream = new KlvStreamParser({ maxPacketBytes: max })
    for (let i = 0; i < rounds(10_000); i++) {
      const bad = mutate(GOOD[i % GOOD.length] ?? DYNAMIC_ONLY, random)
      const cut = random(bad.length + 1)
      stream.push(bad.subarray(0, cut))
      stream.push(bad.subarray(cut))
      expect(stream.bufferedBytes).toBeLessThanOrEqual(max)
      if (i % 100 === 99) {
        stream.reset()
        expect(stream.push(DYNAMIC_ONLY)).toHaveLength(1)
      }
    }
    expect(stream.counters.badChecksums).toBeGreaterThan(0)
  })
})

describe('a mutated transport stream', () => {
  it.each(['asynchronous', 'synchronous'] as const)('with %s KLV is read without throwing, and valid KLV after it is found', (kind) => {
    const random = seededRandom(3)
    const reader = new KlvDemuxer()
    const klv = new KlvStreamParser()
    for (let i = 0; i < rounds(1500); i++) {
      const mux = new TsMuxer()
      const good = Uint8Array.of(
        ...mux.tables(kind === 'synchronous' ? 0x15 : 0x06, DESCRIPTORS[kind]),
        ...mux[kind](i, DYNAMIC_CONSTANT),
        ...mux[kind](i, DYNAMIC_ONLY),
      )
      for (const unit of reader.push(mutate(good, random))) klv.push(unit.bytes)
    }
    expect(klv.counters.packets).toBeGreaterThan(0)
    const mux = new TsMuxer()
    let found = 0
    for (let i = 0; i < 20; i++) {
      reader.push(mux.tables(kind === 'synchronous' ? 0x15 : 0x06, DESCRIPTORS[kind]))
      found += reader.push(mux[kind](i, DYNAMIC_ONLY)).length
    }
    expect(found).toBeGreaterThanOrEqual(18)
  })
})
