import { describe, expect, it } from 'vitest'
import { MAX_PASSED_BYTES } from '../../../../../engine/rtp/fragment.ts'
import { payloadOf } from '../../../../../engine/rtp/packet/packet.ts'
import { NalRepair, type RepairedUnit } from '../../../../../engine/rtp/repair/nal-repair.ts'
import { NAL_FORMATS, type NalCodec } from '../../../../../engine/rtp/repair/nal-units.ts'
import { withoutStartCodes } from '../../../../../engine/rtp/repair/start-codes.ts'
import { rounds } from '../../../../helpers/random.ts'
import { rtpPacket } from '../../../../helpers/rtsp/packets.ts'
import { Random } from '../../../../helpers/rtsp/random-bytes.ts'

const SPS = Buffer.from('67640015acd941', 'hex')
const PPS = Buffer.from('68ebe3cb22c0', 'hex')
const AUD = Buffer.from('0910', 'hex')
const SEI = Buffer.from('060504aabbccdd80', 'hex')
const IDR = Buffer.concat([Buffer.from('65', 'hex'), Buffer.alloc(60, 0x88)])
const SLICE = Buffer.concat([Buffer.from('41', 'hex'), Buffer.alloc(60, 0x9a)])
/** H.265: VPS, SPS, PPS, CRA (type 21), a trailing picture (type 1). */
const [VPS5, SPS5, PPS5] = ['40010c01', '420101016000', '4401c172'].map((hex) => Buffer.from(hex, 'hex')) as [Buffer, Buffer, Buffer]
const CRA = Buffer.concat([Buffer.from('2a01', 'hex'), Buffer.alloc(60, 0xaf)])

const stapA = (...nals: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(0x78), ...nals.flatMap((nal) => [Buffer.of(nal.length >> 8, nal.length & 0xff), nal])])

const base64 = (...units: readonly Buffer[]): string => units.map((unit) => unit.toString('base64')).join(',')
const FROM_SDP = new Map([['sprop-parameter-sets', base64(SPS, PPS)]])

const start = (codec: NalCodec, parameters: ReadonlyMap<string, string> = new Map()) => {
  const repair = new NalRepair(codec, { parameters, maxPacketBytes: MAX_PASSED_BYTES })
  let sequence = 65_530
  let timestamp = 0
  return {
    repair,
    unit: (payloads: readonly Buffer[], key = false, sameTime = false): RepairedUnit => {
      if (!sameTime) timestamp += 3000
      const given = payloads.map((payload, at) => {
        const packet = rtpPacket({ sequence: sequence++, timestamp, marker: at === payloads.length - 1, payload })
        return payloadOf(packet) ?? { packet, start: 0, end: 0 }
      })
      return repair.repair(given, timestamp, key)
    },
  }
}

const payloadsOf = ({ packets }: RepairedUnit): readonly Buffer[] => packets.map((packet) => packet.subarray(12))
const bytesOf = ({ packets }: RepairedUnit): number => packets.reduce((sum, packet) => sum + packet.length, 0)

/** The payloads are these, the last packet of each unit alone has the marker, and the sequence numbers go on without a gap. */
const expectUnits = (units: readonly RepairedUnit[], payloads: readonly (readonly Buffer[])[]): void => {
  expect(units.map(payloadsOf)).toEqual(payloads)
  for (const { packets } of units) {
    expect(packets.map((packet) => (packet[1] ?? 0) >= 0x80)).toEqual(packets.map((_, at) => at === packets.length - 1))
  }
  const sequences = units.flatMap((unit) => unit.sequences)
  expect(sequences).toEqual(sequences.map((_, at) => ((sequences[0] ?? 0) + at) & 0xffff))
}

describe('a key frame', () => {
  it('with parameter sets before its slices passes as it is', () => {
    const { unit } = start('H264', FROM_SDP)
    for (const payloads of [
      [SPS, PPS, IDR],
      [AUD, SPS, PPS, SEI, IDR, IDR],
      [stapA(SPS, PPS, SEI), IDR],
    ]) {
      expect(payloadsOf(unit(payloads, true))).toEqual(payloads)
    }
  })

  it('without them gets those of the description, after the delimiter and before everything else', () => {
    const { unit } = start('H264', FROM_SDP)
    const units = [unit([IDR], true), unit([SLICE]), unit([AUD, SEI, IDR], true), unit([SPS, IDR], true)]
    expectUnits(units, [[SPS, PPS, IDR], [SLICE], [AUD, SPS, PPS, SEI, IDR], [PPS, SPS, IDR]])
  })

  it('gets those that the stream sent last, also in another unit or in an aggregation', () => {
    const { unit } = start('H264', FROM_SDP)
    const newPps = Buffer.from('68ffffff', 'hex')
    unit([stapA(SPS, newPps)])
    expect(payloadsOf(unit([IDR], true))).toEqual([SPS, newPps, IDR])
    expect(payloadsOf(unit([stapA(AUD, SEI, IDR)], true))).toEqual([AUD, SPS, newPps, SEI, IDR])
  })

  it('keeps parameter sets of several ids', () => {
    const { unit } = start('H264')
    const second = Buffer.from('684be3cb', 'hex')
    unit([SPS, PPS, second, IDR], true)
    expect(payloadsOf(unit([IDR], true))).toEqual([SPS, PPS, second, IDR])
  })

  it('loses parameter sets that are repeated after its first slice, not its marker', () => {
    const { unit } = start('H264')
    const units = [unit([SPS, PPS, IDR, SPS, PPS, IDR], true), unit([SLICE, SPS, PPS]), unit([SLICE, stapA(SPS, PPS, SLICE)])]
    expectUnits(units, [[SPS, PPS, IDR, IDR], [SLICE], [SLICE, SLICE]])
  })

  it('whose slices come with a marker each begins once', () => {
    const { unit } = start('H264', FROM_SDP)
    const units = [unit([IDR], true), unit([IDR], true, true), unit([SLICE], false, true), unit([IDR], true)]
    expect(units.map(({ key, packets }) => [key, packets.length])).toEqual([
      [true, 3],
      [false, 1],
      [false, 1],
      [true, 3],
    ])
  })

  it('of H.265, CRA pictures too, gets all three sets', () => {
    const { unit, repair } = start('H265', new Map([['sprop-vps', base64(VPS5)]]))
    expect(payloadsOf(unit([VPS5, SPS5, PPS5, CRA], true))).toEqual([VPS5, SPS5, PPS5, CRA])
    expect(Object.fromEntries(repair.newParameters() ?? [])).toEqual({
      'sprop-vps': base64(VPS5),
      'sprop-sps': base64(SPS5),
      'sprop-pps': base64(PPS5),
    })
    expect(payloadsOf(unit([CRA], true))).toEqual([VPS5, SPS5, PPS5, CRA])
  })
})

it('parameters of the caps change only when those of the stream differ', () => {
  const { unit, repair } = start('H264', new Map([...FROM_SDP, ['profile-level-id', '640015']]))
  expect(repair.newParameters()).toBeUndefined()
  unit([SPS, PPS, IDR], true)
  expect(repair.newParameters()).toBeUndefined()
  const other = Buffer.from('6742001eacd941', 'hex')
  unit([other, PPS, IDR], true)
  const changed = { 'sprop-parameter-sets': base64(other, PPS), 'profile-level-id': '42001e' }
  expect(Object.fromEntries(repair.newParameters() ?? [])).toEqual(changed)
  expect(repair.newParameters()).toBeUndefined()
})

it('an aggregation of more than 1452 bytes is taken apart; a smaller one and a large NAL unit pass', () => {
  const { unit } = start('H264')
  const slice = Buffer.concat([Buffer.of(0x65), new Random(1).bytes(900)])
  const large = Buffer.concat([slice, slice, slice])
  const units = [unit([stapA(SPS, PPS, slice, slice)], true), unit([stapA(SLICE, SLICE)]), unit([large])]
  expectUnits(units, [[SPS, PPS, slice, slice], [stapA(SLICE, SLICE)], [large]])
})

describe('what a hostile source sends', () => {
  it.each(['H264', 'H265'] as const)('is bounded and never throws: %s', (codec) => {
    for (let seed = 1; seed <= rounds(60); seed += 1) {
      const random = new Random(seed)
      const { unit, repair } = start(codec, FROM_SDP)
      for (let at = 0; at < 20; at += 1) {
        const payloads = Array.from({ length: 1 + random.integer(4) }, () =>
          random.next() < 0.5
            ? random.bytes(random.integer(3000))
            : random.mutate(stapA(SPS, PPS, IDR, random.bytes(random.integer(1500)))),
        )
        const repaired = unit(payloads, random.next() < 0.5)
        expect(repaired.packets.length, `seed ${seed}`).toBe(repaired.sequences.length)
        expect(bytesOf(repaired)).toBeLessThan(40_000)
        repair.newParameters()
      }
    }
  })

  it('such as endless new parameter sets is forgotten', () => {
    const { unit, repair } = start('H264')
    for (let at = 0; at < 1000; at += 1)
      unit([Buffer.concat([Buffer.from([0x68, 0, 0x40 + (at % 64), at & 0xff]), new Random(at).bytes(100)])])
    const { packets } = unit([IDR], true)
    expect(packets.length).toBeLessThanOrEqual(65)
    expect([...(repair.newParameters() ?? [])].join().length).toBeLessThan(20_000)
  })

  it('such as large parameter sets is bounded in what goes before each of its key frames', () => {
    const { unit, repair } = start('H264')
    for (let id = 0; id < 32; id += 1) unit([Buffer.concat([Buffer.from([0x68, 0, 0x40 + id]), Buffer.alloc(8000, id)])])
    expect(bytesOf(unit([IDR], true))).toBeLessThan(17_000)
    expect([...(repair.newParameters() ?? [])].join().length).toBeLessThan(24_000)
  })
})

describe('NAL units with start codes inside', () => {
  const START = Buffer.from([0, 0, 0, 1])
  const joined = (...nals: readonly Buffer[]): Buffer => Buffer.concat(nals.flatMap((nal, at) => (at === 0 ? [nal] : [START, nal])))
  /** FU-A packets of 20 bytes. */
  const fragments = (nal: Buffer): readonly Buffer[] => {
    const count = Math.ceil((nal.length - 1) / 18)
    return Array.from({ length: count }, (_, at) => {
      const flags = (at === 0 ? 0x80 : 0) | (at === count - 1 ? 0x40 : 0)
      const [header = 0] = nal
      return Buffer.concat([Buffer.from([(header & 0xe0) | 28, flags | (header & 0x1f)]), nal.subarray(1 + at * 18, 19 + at * 18)])
    })
  }

  it('are not looked for behind an empty payload, whatever its padding looks like', () => {
    const padded = Buffer.concat([rtpPacket({ sequence: 1, timestamp: 1, payload: '' }), Buffer.from([28, 0x80, 0, 4])])
    padded[0] = 0xa0
    const last = rtpPacket({ sequence: 2, timestamp: 1, payload: Buffer.concat([Buffer.from([28, 0x41]), START, IDR]) })
    const payloads = [padded, last].map((packet) => payloadOf(packet) ?? expect.fail('not RTP'))
    expect(payloads[0]).toMatchObject({ start: 12, end: 12 })
    expect(withoutStartCodes(NAL_FORMATS.H264, payloads)).toBeUndefined()
  })

  it('become packets of their own, and the picture a key frame', () => {
    const { unit } = start('H264')
    const units = [
      unit([joined(SPS, PPS, SEI, IDR)]),
      unit([SLICE]),
      unit(fragments(joined(SPS, PPS, IDR))),
      unit([joined(AUD, SLICE)]),
      unit([Buffer.concat([START, joined(SPS, PPS, IDR)])]),
    ]
    expectUnits(units, [[SPS, PPS, SEI, IDR], [SLICE], [SPS, PPS, IDR], [AUD, SLICE], [SPS, PPS, IDR]])
    expect(units.map(({ key }) => key)).toEqual([true, false, true, false, true])
  })

  it.each([
    ['H264', [0x20, 0x78, 0x1c, 0x1e, 0x1f], SEI, IDR],
    ['H265', [0x60, 0x62, 0x7e], VPS5, CRA],
  ] as const)('leave out those that %s has no packet for, which could not be fragmented', (codec, headers, first, second) => {
    const { unit } = start(codec)
    const others = headers.map((header) => Buffer.concat([Buffer.of(header), Buffer.alloc(70_000, 0xaa)]))
    expect(payloadsOf(unit([joined(first, ...others, second)]))).toEqual([first, second])
    const alone = joined(Buffer.alloc(0), ...others)
    expect(payloadsOf(unit([alone]))).toEqual([alone])
  })

  it('of H.265 become packets of their own', () => {
    const { unit } = start('H265')
    // Without the zero at the end, which no NAL unit has.
    const sps = SPS5.subarray(0, -1)
    const slice = Buffer.from(CRA.with(0, 0x02))
    const units = [unit([joined(VPS5, sps, PPS5, CRA)]), unit([slice])]
    expectUnits(units, [[VPS5, sps, PPS5, CRA], [slice]])
    expect(units.map(({ key }) => key)).toEqual([true, false])
  })

  it('stay as they are when there are more than any picture has, and fragments without an end too', () => {
    const { unit } = start('H264')
    const many = joined(SPS, ...Array.from({ length: 1000 }, () => SEI))
    expect(payloadsOf(unit([many]))).toEqual([many])
    const several = unit(Array.from({ length: 20 }, () => joined(SPS, ...Array.from({ length: 50 }, () => SEI))))
    expect(several.packets).toHaveLength(20)
    const endless = fragments(joined(SPS, PPS, IDR)).slice(0, -1)
    expect(payloadsOf(unit([...endless, ...endless]))).toEqual([...endless, ...endless])
  })

  it('leave the packets after them as they are', () => {
    const { unit } = start('H264', FROM_SDP)
    expectUnits([unit([joined(SPS, PPS), IDR]), unit([SLICE])], [[SPS, PPS, IDR], [SLICE]])
  })
})
