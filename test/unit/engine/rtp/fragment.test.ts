import { describe, expect, it } from 'vitest'
import { fragmenterOf, MAX_CUT_BYTES, MAX_PASSED_BYTES, numbered } from '../../../../engine/rtp/fragment.ts'
import { payloadOf, sequenceOf } from '../../../../engine/rtp/packet/packet.ts'
import { SequenceNumbers } from '../../../../engine/rtp/sequence-numbers.ts'
import { rtpPacket } from '../../../helpers/rtsp/packets.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

/** Header bytes of a NAL unit, and of the packets that carry it whole or in fragments. */
const CODECS = {
  H264: { nal: [0x65], indicator: [0x7c], type: 5, aggregate: [0x18] },
  // IDR_W_RADL (19) of layer 33, temporal id 1.
  H265: { nal: [0x27, 0x09], indicator: [0x63, 0x09], type: 19, aggregate: [0x60, 0x01] },
} as const

type Codec = keyof typeof CODECS

const BYTES = Buffer.from(new Random(1).bytes(100_000))
const body = (bytes: number): Buffer => BYTES.subarray(0, bytes)

const packetOf = (header: readonly number[], data: Buffer, { sequence = 7, marker = true } = {}): Buffer =>
  rtpPacket({ sequence, timestamp: 9000, marker, payload: Buffer.concat([Buffer.from(header), data]) })

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
  const at = 12 + CODECS[codec].indicator.length
  return {
    data: Buffer.concat(packets.map((packet) => packet.subarray(at + 1))),
    parts: packets.map((packet) => {
      const fu = packet[at] ?? 0
      const marker = ((packet[1] ?? 0) & 0x80) !== 0
      return { indicator: [...packet.subarray(12, at)], start: (fu & 0x80) !== 0, end: (fu & 0x40) !== 0, type: fu & 0x3f, marker }
    }),
  }
}

describe.each(['H264', 'H265'] as const)('packets of %s', (codec) => {
  const { nal, indicator, type, aggregate } = CODECS[codec]
  /** The fragments of one NAL unit in `count` packets. */
  const partsOf = (count: number, { start = true, end = true, marker = true } = {}) =>
    Array.from({ length: count }, (_, at) => {
      const last = at === count - 1
      return { indicator, type, start: start && at === 0, end: end && last, marker: marker && last }
    })
  const fragments = (bytes: number, packetBytes: number) => {
    const size = packetBytes - 12 - indicator.length - 1
    const count = Math.ceil(bytes / size)
    return Array.from({ length: count }, (_, at) => {
      const flags = (at === 0 ? 0x80 : 0) | (at === count - 1 ? 0x40 : 0)
      const data = body(bytes).subarray(at * size, (at + 1) * size)
      return packetOf([...indicator, flags | type], data, { sequence: 65_530 + at, marker: at === count - 1 })
    })
  }

  it.each([1440, 2774, 64_980])('with a NAL unit of %d bytes become even fragments of at most 1400 bytes', (bytes) => {
    const packets = cut(codec, packetOf(nal, body(bytes)))
    expect(reassemble(codec, packets)).toEqual({ data: body(bytes), parts: partsOf(packets.length) })
    const [largest = 0, ...sizes] = packets.map(({ length }) => length)
    const last = sizes.pop() ?? 0
    expect(new Set([largest, ...sizes])).toEqual(new Set([largest]))
    expect([largest <= MAX_CUT_BYTES, largest - last < packets.length]).toEqual([true, true])
  })

  it.each([
    ['the first', 0x80],
    ['a middle', 0],
    ['the last', 0x40],
  ])('that are %s fragment are fragmented further', (_which, flags) => {
    const packets = cut(codec, packetOf([...indicator, flags | type], body(5000), { marker: false }))
    const parts = partsOf(4, { start: flags === 0x80, end: flags === 0x40, marker: false })
    expect(reassemble(codec, packets)).toEqual({ data: body(5000), parts })
  })

  it.each([
    ['fit', packetOf(nal, body(MAX_PASSED_BYTES - 12 - nal.length))],
    ['aggregate NAL units', packetOf(aggregate, body(3000))],
  ])('that %s stay as they are', (_what, packet) => {
    expect(cut(codec, packet)).toEqual([packet])
  })

  it('with fragments that fit pass as they are', () => {
    const packets = fragments(20_000, MAX_PASSED_BYTES)
    expect(cut(codec, ...packets)).toEqual(packets)
  })

  it.each([1453, 1500, 9000])('with fragments in packets of %d bytes are cut evenly, without a crumb after each', (bytes) => {
    const recut = cut(codec, ...fragments(100_000, bytes))
    const count = Math.ceil(100_000 / (MAX_CUT_BYTES - 12 - indicator.length - 1))
    expect(reassemble(codec, recut)).toEqual({ data: body(100_000), parts: partsOf(count) })
    const sizes = recut.map(({ length }) => length)
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(count)
  })

  it('with fragments are put together up to a loss and after it, so that the loss stays between them', () => {
    const packets = fragments(28_000, 1500)
    const [before, after] = [packets.slice(0, 7), packets.slice(8)]
    expect(cut(codec, ...before, ...after)).toEqual([...cut(codec, ...before), ...cut(codec, ...after)])
    expect(reassemble(codec, cut(codec, ...before)).parts).toEqual(partsOf(8, { end: false, marker: false }))
  })
})

it.each([
  ['H264', '00'],
  ['H264', '18'],
  ['H264', '1d'],
  ['H264', '1f'],
  ['JPEG', ''],
])('a packet of %s that is no NAL unit stays as it is: header %s', (codec, header) => {
  const packet = packetOf([...Buffer.from(header, 'hex')], body(3000))
  expect(cut(codec, packet)).toEqual([packet])
})

it.each([
  ['H264', ['', '65', '1c', '1c85']],
  ['H265', ['', '26', '2601', '62', '6201', '620193']],
  ['SMPTE336M', ['']],
])('packets of %s that are large by their header extension stay as they are', (codec, payloads) => {
  for (const payload of payloads) {
    const packet = packetOf([...Buffer.from('bede0172', 'hex')], Buffer.concat([Buffer.alloc(4 * 370), Buffer.from(payload, 'hex')]))
    packet[0] = 0x90
    expect(cut(codec, packet), payload).toEqual([packet])
  }
})

it('KLV is split anywhere, with the marker on the last packet (RFC 6597 section 4.2)', () => {
  const packets = cut('SMPTE336M', packetOf([], body(3000)))
  expect(packets.map((packet) => [packet.length, (packet[1] ?? 0) >= 0x80])).toEqual([
    [1012, false],
    [1012, false],
    [1012, true],
  ])
  expect(Buffer.concat(packets.map((packet) => packet.subarray(12)))).toEqual(body(3000))
})

describe('the numbers of the packets of one unit after the other', () => {
  /** The differences of the numbers that readers see; each packet is a unit. */
  const steps = (units: readonly (readonly [sequence: number, bytes: number])[], fragment = fragmenterOf('H264')) => {
    const series = new SequenceNumbers()
    const sequences = units.flatMap(
      ([sequence, bytes]) => numbered([packetOf([0x65], body(bytes), { sequence })], [sequence & 0xffff], series, fragment).sequences,
    )
    return sequences.slice(1).map((sequence, at) => (sequence - (sequences[at] ?? 0)) & 0xffff)
  }

  it('have no gap, also over the wrap of the number', () => {
    const all = steps(Array.from({ length: 3000 }, (_, at) => [65_000 + at, at % 3 === 0 ? 40_000 : 100] as const))
    expect([all.length, new Set(all)]).toEqual([1000 * 29 + 2000 - 1, new Set([1])])
  })

  it('show the loss of packets', () => {
    const lossy = [
      [10, 3000],
      [13, 3000],
    ] as const
    expect(steps(lossy)).toEqual([1, 1, 3, 1, 1])
    expect(steps(lossy, fragmenterOf(''))).toEqual([3])
  })
})
