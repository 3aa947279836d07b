import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { hasMarker, payloadOf } from '../../../../engine/rtp/packet/packet.ts'
import { UnitAssembler } from '../../../../engine/rtp/unit-assembler.ts'
import { IDR, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

/** Slices that begin at a later macroblock (first_mb_in_slice 7). */
const [IDR_REST, SLICE_REST] = [Buffer.from('651088', 'hex'), Buffer.from('41109a', 'hex')]
const [SPS, PPS, AUD] = [Buffer.from('67640015', 'hex'), Buffer.from('68ebe3cb', 'hex'), Buffer.from('0910', 'hex')]
/** Slices of a picture that is no IDR: all of the picture intra (slice_type 7), this slice intra (2), predicted (5). */
const [INTRA, INTRA_SLICE, PREDICTED] = [Buffer.from('4188', 'hex'), Buffer.from('41b0', 'hex'), Buffer.from('419a', 'hex')]

const setUp = (encodingName = 'H264') => {
  const units: { types: readonly number[]; markers: readonly boolean[]; timestamp: number; key: boolean }[] = []
  const assembler = new UnitAssembler(
    (payloads, { timestamp, key }) => {
      const packets = payloads.map(({ packet }) => packet)
      units.push({ types: packets.map((packet) => (packet[12] ?? 0) & 0x1f), markers: packets.map(hasMarker), timestamp, key })
    },
    () => {},
  )
  assembler.setEncoding(encodingName)
  assembler.begin('network')
  let sequence = 0
  const push = (timestamp: number, payload: Buffer, marker: boolean): void => {
    const packet = rtpPacket({ sequence: sequence++, timestamp, marker, payload })
    assembler.push(payloadOf(packet) ?? { packet, start: 12, end: packet.length })
  }
  /** A picture whose last packet has the marker, or all of them. */
  const picture = (timestamp: number, payloads: readonly Buffer[], marks: 'last' | 'all' = 'last'): void => {
    for (const [at, payload] of payloads.entries()) push(timestamp, payload, marks === 'all' || at === payloads.length - 1)
  }
  /** The timestamp and the number of packets of each unit, and whether it is a key frame. */
  const sizes = () => units.map(({ timestamp, types, key }) => `${timestamp}: ${types.length}${key ? ' key' : ''}`)
  return { assembler, units, sizes, picture, push }
}

describe('the unit assembler', () => {
  it('drops a unit that keeps too much of what was read beside it, and begins with the next', () => {
    const { assembler, sizes, push } = setUp()
    const MB = 1024 * 1024
    assembler.noteRead(100 * MB)
    push(3000, IDR, false)
    assembler.noteRead(64 * MB)
    push(3000, IDR_REST, true)
    push(6000, SLICE, false)
    assembler.noteRead(65 * MB)
    expect(assembler.holds).toBe(false)
    push(6000, SLICE_REST, true)
    push(9000, SLICE, true)
    expect(sizes()).toEqual(['3000: 2 key', '9000: 1'])
  })

  it('keeps the slices of a picture together once it knows that the source marks each of them', () => {
    const { units, sizes, picture } = setUp()
    picture(3000, [IDR, IDR_REST, IDR_REST], 'all')
    for (const timestamp of [6000, 9000, 12_000]) picture(timestamp, [SLICE, SLICE_REST, SLICE_REST], 'all')
    picture(15_000, [IDR, IDR_REST], 'all')
    picture(18_000, [SLICE], 'all')
    // Of the first picture, the first slice has gone before the second came.
    expect(sizes()).toEqual(['3000: 1 key', '3000: 2 key', '6000: 3', '9000: 3', '12000: 3', '15000: 2 key'])
    expect(units.at(2)?.markers).toEqual([false, false, true])
  })

  it('begins no GOP at the second field of a key frame, which has the time of the first', () => {
    const { sizes, picture } = setUp()
    const recoveryPoint = Buffer.from('06060180', 'hex')
    for (const timestamp of [3000, 3000, 6000, 6000, 9000, 9000]) picture(timestamp, timestamp === 6000 ? [SLICE] : [recoveryPoint, INTRA])
    expect(sizes()).toEqual(['3000: 2 key', '3000: 2', '6000: 1', '6000: 1', '9000: 2 key', '9000: 2'])
  })

  it('keeps the fragments of a slice together once it knows that the source marks each packet', () => {
    const { sizes, picture } = setUp()
    const fragmented = ['7c8588', '7c0500', '7c4500'].map((hex) => Buffer.from(hex, 'hex'))
    for (const timestamp of [3000, 6000, 9000]) picture(timestamp, fragmented, 'all')
    expect(sizes()).toEqual(['3000: 1 key', '3000: 2', '6000: 3 key'])
  })

  it('closes a picture by its marker when its parameter sets or its fields have one too', () => {
    const { units, picture } = setUp()
    picture(3000, [SPS, PPS, IDR], 'all')
    // The second field of a frame begins at its own first macroblock.
    picture(6000, [SLICE, SLICE], 'all')
    picture(9000, [SLICE, SLICE_REST])
    expect(units.map(({ types }) => types)).toEqual([[7], [8], [5], [1], [1], [1, 1]])
  })

  it('cuts a unit that nothing ends', () => {
    const { units, push } = setUp()
    for (let packets = 0; packets <= 16_384; packets += 1) push(3000, SLICE, false)
    expect(units.map(({ types }) => types.length)).toEqual([16_384])
  })

  it('closes a unit after a silence of its own, not of the one before', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { assembler, units, push } = setUp()
    push(3000, SLICE, false)
    assembler.closeAfterSilence()
    await vi.advanceTimersByTimeAsync(90)
    push(6000, SLICE, false)
    assembler.closeAfterSilence()
    await vi.advanceTimersByTimeAsync(90)
    expect(units.map(({ timestamp }) => timestamp)).toEqual([3000])
    await vi.advanceTimersByTimeAsync(100)
    expect(units.map(({ timestamp }) => timestamp)).toEqual([3000, 6000])
  })

  it('waits for the rest of a picture of a child that the host has stopped between two packets', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { assembler, sizes, push } = setUp()
    assembler.begin('child')
    push(3000, IDR, true)
    push(6000, SLICE, false)
    assembler.closeAfterSilence()
    await vi.advanceTimersByTimeAsync(200)
    push(6000, SLICE_REST, true)
    expect(sizes()).toEqual(['3000: 1 key', '6000: 2'])
  })

  it.each([
    [false, 'a predicted one', [AUD, PREDICTED]],
    [false, 'one without parameter sets', [AUD, INTRA]],
    [true, 'an intra one', [AUD, SPS, PPS, INTRA]],
    [true, 'one of intra slices', [SPS, PPS, INTRA_SLICE, Buffer.from('4110c0', 'hex')]],
    [true, 'an intra one whose later slices say otherwise', [SPS, PPS, INTRA, PREDICTED]],
    [false, 'a predicted one with parameter sets', [SPS, PPS, PREDICTED]],
    [false, 'one whose second slice is predicted', [SPS, PPS, INTRA_SLICE, SLICE_REST]],
  ])('takes an intra picture with its own parameter sets for a key frame in a run without any other: %s, %s', (key, _what, payloads) => {
    const { units, picture } = setUp()
    picture(3000, payloads)
    expect(units).toMatchObject([{ key }])
  })

  it('does not begin there in a run with IDR pictures', () => {
    const { assembler, units, picture } = setUp()
    picture(3000, [SPS, PPS, IDR])
    picture(6000, [SPS, PPS, INTRA])
    assembler.begin('network')
    picture(9000, [SPS, PPS, INTRA])
    expect(units.map(({ key }) => key)).toEqual([true, false, true])
  })
})
