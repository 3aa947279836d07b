import { describe, expect, it } from 'vitest'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { fragmenterOf, MAX_CUT_BYTES, MAX_PASSED_BYTES } from '../../../../engine/rtp/fragment.ts'
import { payloadOf, sequenceOf } from '../../../../engine/rtp/packet/packet.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { framedPackets, H264_CAPS, rtpPacket } from '../../../helpers/rtsp/packets.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

/** Header bytes of a NAL unit, and of the packets that carry it whole or in fragments. */
const CODECS = {
  H264: { nal: [0x65], indicator: [0x7c], type: 5, aggregate: [0x18], headerBytes: 1 },
  // IDR_W_RADL (19) of layer 33, temporal id 1.
  H265: { nal: [0x27, 0x09], indicator: [0x63, 0x09], type: 19, aggregate: [0x60, 0x01], headerBytes: 2 },
} as const

type Codec = keyof typeof CODECS

const BYTES = Buffer.from(new Random(1).bytes(100_000))
const body = (bytes: number): Buffer => BYTES.subarray(0, bytes)

const fragment = (codec: Codec, payload: Buffer, marker = true) => {
  const packet = rtpPacket({ sequence: 7, timestamp: 9000, marker, payload })
  return cut(codec, packet)
}

const cut = (encodingName: string, ...packets: readonly Buffer[]): readonly Buffer[] => {
  const payloads = packets.map((packet) => payloadOf(packet) ?? expect.fail('not RTP'))
  const sequences = packets.map(sequenceOf)
  const out: Buffer[] = []
  for (let at = 0; at < payloads.length; ) {
    const recut = fragmenterOf(encodingName)(payloads, sequences, at)
    out.push(...recut.packets)
    at += recut.replaced
  }
  return out
}

/** What a receiver makes of fragments (RFC 6184 section 5.8, RFC 7798 section 4.4.3). */
const reassemble = (codec: Codec, packets: readonly Buffer[]) => {
  const { headerBytes } = CODECS[codec]
  return packets.map((packet) => {
    const payload = packet.subarray(12)
    const fu = payload[headerBytes] ?? 0
    return {
      indicator: [...payload.subarray(0, headerBytes)],
      start: (fu & 0x80) !== 0,
      end: (fu & 0x40) !== 0,
      type: fu & 0x3f & (codec === 'H264' ? 0x1f : 0x3f),
      marker: ((packet[1] ?? 0) & 0x80) !== 0,
      data: payload.subarray(headerBytes + 1),
    }
  })
}

describe.each(['H264', 'H265'] as const)('packets of %s', (codec) => {
  const { nal, indicator, type, aggregate } = CODECS[codec]

  it.each([1440, 2000, 2774, 40_000, 64_980])('with a NAL unit of %d bytes become fragments of at most 1400 bytes', (bytes) => {
    const data = body(bytes)
    const packets = fragment(codec, Buffer.concat([Buffer.from(nal), data]))
    const parts = reassemble(codec, packets)
    expect(Buffer.concat(parts.map((part) => part.data))).toEqual(data)
    expect(Math.max(...packets.map(({ length }) => length))).toBeLessThanOrEqual(MAX_CUT_BYTES)
    const sizes = packets.map(({ length }) => length)
    expect(new Set(sizes.slice(0, -1)).size).toBe(1)
    expect((sizes[0] ?? 0) - (sizes.at(-1) ?? 0)).toBeLessThan(sizes.length)
    for (const [at, part] of parts.entries()) {
      const last = at === parts.length - 1
      expect(part).toMatchObject({ indicator, type, start: at === 0, end: last, marker: last })
    }
  })

  it('that fit stay as they are', () => {
    const payload = Buffer.concat([Buffer.from(nal), body(MAX_PASSED_BYTES - 12 - nal.length)])
    expect(fragment(codec, payload).map((packet) => packet.subarray(12))).toEqual([payload])
  })

  it.each([
    ['the first', 0x80],
    ['a middle', 0],
    ['the last', 0x40],
  ])('that are %s fragment are fragmented further', (_which, flags) => {
    const data = body(5000)
    const parts = reassemble(codec, fragment(codec, Buffer.concat([Buffer.from([...indicator, flags | type]), data]), false))
    expect(Buffer.concat(parts.map((part) => part.data))).toEqual(data)
    expect(parts.every((part) => part.type === type && !part.marker)).toBe(true)
    expect(parts.map(({ start }) => start)).toEqual(parts.map((_, at) => at === 0 && flags === 0x80))
    expect(parts.map(({ end }) => end)).toEqual(parts.map((_, at) => at === parts.length - 1 && flags === 0x40))
  })

  it('that aggregate NAL units stay as they are', () => {
    const payload = Buffer.concat([Buffer.from(aggregate), body(3000)])
    expect(fragment(codec, payload).map((packet) => packet.subarray(12))).toEqual([payload])
  })
})

it.each([0x00, 0x18, 0x1d, 0x1f])('a packet of H264 that is no NAL unit stays as it is: header %d', (header) => {
  const payload = Buffer.concat([Buffer.of(header), body(3000)])
  expect(fragment('H264', payload).map((packet) => packet.subarray(12))).toEqual([payload])
})

it('packets of another codec stay as they are', () => {
  const packet = rtpPacket({ sequence: 1, timestamp: 1, payload: 'x'.repeat(9000) })
  expect(cut('JPEG', packet)).toEqual([packet])
})

it.each([
  ['H264', ''],
  ['H264', '65'],
  ['H264', '1c'],
  ['H264', '1c85'],
  ['H265', ''],
  ['H265', '26'],
  ['H265', '2601'],
  ['H265', '62'],
  ['H265', '6201'],
  ['H265', '620193'],
  ['SMPTE336M', ''],
])('a packet that is large by its header extension stays as it is: %s %j', (codec, payload) => {
  const extension = Buffer.concat([Buffer.from('bede0172', 'hex'), Buffer.alloc(4 * 370)])
  const packet = rtpPacket({ sequence: 1, timestamp: 1, payload: Buffer.concat([extension, Buffer.from(payload, 'hex')]) })
  packet[0] = 0x90
  expect(packet.length).toBeGreaterThan(MAX_PASSED_BYTES)
  expect(cut(codec, packet)).toEqual([packet])
})

describe.each(['H264', 'H265'] as const)('fragments of a NAL unit of %s as a source cut it', (codec) => {
  const { indicator, type } = CODECS[codec]
  const fragments = (bytes: number, size: number, sequence = 65_530) => {
    const data = body(bytes)
    const count = Math.ceil(bytes / size)
    const packets = Array.from({ length: count }, (_, at) => {
      const flags = (at === 0 ? 0x80 : 0) | (at === count - 1 ? 0x40 : 0)
      const payload = Buffer.concat([Buffer.from([...indicator, flags | type]), data.subarray(at * size, (at + 1) * size)])
      return rtpPacket({ sequence: (sequence + at) & 0xffff, timestamp: 9000, marker: at === count - 1, payload })
    })
    return { data, packets }
  }
  const sizeOf = (packetBytes: number) => packetBytes - 12 - indicator.length - 1

  it.each([1200, 1388, 1412, 1452])('pass as they are in packets of %d bytes', (bytes) => {
    const { packets } = fragments(20_000, sizeOf(bytes))
    expect(cut(codec, ...packets)).toEqual(packets)
  })

  it.each([1453, 1460, 1500, 9000])('are cut evenly in packets of %d bytes, without a crumb after each', (bytes) => {
    const { data, packets } = fragments(100_000, sizeOf(bytes))
    const recut = cut(codec, ...packets)
    expect(Buffer.concat(reassemble(codec, recut).map((part) => part.data))).toEqual(data)
    expect(reassemble(codec, recut).map(({ start, end, marker }) => [start, end, marker])).toEqual(
      recut.map((_, at) => [at === 0, at === recut.length - 1, at === recut.length - 1]),
    )
    expect(recut).toHaveLength(Math.ceil(100_000 / sizeOf(MAX_CUT_BYTES)))
    expect(Math.max(...recut.map(({ length }) => length)) - Math.min(...recut.map(({ length }) => length))).toBeLessThan(recut.length)
  })

  it('are put together up to a loss and after it, so that the loss stays between them', () => {
    const { data, packets } = fragments(20 * 1440, 1440)
    const recut = cut(codec, ...packets.filter((_, at) => at !== 7))
    const parts = reassemble(codec, recut)
    expect(Buffer.concat(parts.map((part) => part.data))).toEqual(Buffer.concat([data.subarray(0, 7 * 1440), data.subarray(8 * 1440)]))
    expect(parts.filter(({ start }) => start)).toHaveLength(1)
    expect(parts.filter(({ end }) => end)).toHaveLength(1)
    expect(Math.min(...parts.map((part) => part.data.length))).toBeGreaterThan(1000)
  })
})

describe('a stream that fragments', () => {
  const setUp = (fragmenting: boolean) => {
    const stream = new RtpStream()
    const units: AccessUnit[] = []
    stream.onUnit((unit) => units.push(unit))
    const caps = parseRtpCaps(H264_CAPS)
    if (caps === undefined) throw new Error('no caps')
    stream.begin({ fragmenting })
    stream.setCaps(caps)
    const send = (...packets: readonly { readonly sequence: number; readonly bytes: number }[]) => {
      for (const { sequence, bytes } of packets) {
        const payload = Buffer.concat([Buffer.from([0x65]), body(bytes)])
        stream.ingest(framedPackets(rtpPacket({ sequence, timestamp: sequence * 3000, payload })))
      }
      return units.flatMap((unit) => unit.packets().map((packet) => packet.readUInt16BE(2)))
    }
    return { units, send }
  }
  const stepsOf = (sequences: readonly number[]) => sequences.slice(1).map((sequence, at) => (sequence - (sequences[at] ?? 0)) & 0xffff)

  it('numbers its packets without a gap, also over the wrap of the number', () => {
    const { send, units } = setUp(true)
    const sequences = send(
      ...Array.from({ length: 3000 }, (_, at) => ({ sequence: (65_000 + at) & 0xffff, bytes: at % 3 === 0 ? 40_000 : 100 })),
    )
    expect(units).toHaveLength(3000)
    expect(sequences.length).toBeGreaterThan(30_000)
    expect(new Set(stepsOf(sequences))).toEqual(new Set([1]))
  })

  it('keeps the loss of packets visible', () => {
    const sequences = setUp(true).send({ sequence: 10, bytes: 3000 }, { sequence: 13, bytes: 3000 })
    expect(stepsOf(sequences)).toEqual([1, 1, 3, 1, 1])
  })

  it('leaves packets as they are unless it is asked to', () => {
    expect(setUp(false).send({ sequence: 10, bytes: 40_000 })).toHaveLength(1)
  })
})

it('KLV is split anywhere, with the marker on the last packet (RFC 6597 section 4.2)', () => {
  const data = body(3000)
  const packet = rtpPacket({ sequence: 7, timestamp: 9000, marker: true, payload: data })
  const packets = cut('SMPTE336M', packet)
  expect(packets.map((part) => [part.length, (part[1] ?? 0) >= 0x80])).toEqual([
    [1012, false],
    [1012, false],
    [1012, true],
  ])
  expect(Buffer.concat(packets.map((part) => part.subarray(12)))).toEqual(data)
})
