import { describe, expect, it } from 'vitest'
import { BitReader, BitWriter, withEmulation, withoutEmulation } from '../../../../engine/codec/bits.ts'
import { frameRateOfSps, parseH264Sps } from '../../../../engine/codec/h264-sps.ts'
import { FrameRateHint, measureFrameRate } from '../../../../engine/mount/frame-rate-hint.ts'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { beginStream, H264_CAPS, IDR, SLICE } from '../../../helpers/rtsp/packets.ts'

const SPS = Buffer.from('Z0LAHoyNQFAX/LAPCIRq', 'base64')
const OTHER_SPS = Buffer.from('Z0LAHoyNQFAX/LNQECAgeEQjUA==', 'base64')
const TIMED_SPS = Buffer.from('Z0LAFdkBQfsBagwMDUoAAAMAAgAAAwB5HixckA==', 'base64')
const PPS = Buffer.from('aMuMsg==', 'base64')

const stapA = (...nals: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.of(24), ...nals.flatMap((nal) => [Buffer.of(nal.length >> 8, nal.length & 0xff), nal])])

/** A stream of H.264 whose key frames begin with these payloads. */
const setUp = (sprop = SPS) => {
  const clock = { ms: 1000 }
  const sets = `sprop-parameter-sets=(string)"${sprop.toString('base64')}\\,${PPS.toString('base64')}"`
  const { stream, send } = beginStream({ now: () => clock.ms }, `${H264_CAPS}, ${sets}`)
  const units: AccessUnit[] = []
  stream.onUnit((unit) => units.push(unit))
  const frames = (count: number, key?: readonly Buffer[], ticks = 3600) => {
    for (let at = 0; at < count; at += 1) {
      send(at === 0 && key ? [...key, IDR] : [SLICE], ticks)
      clock.ms += ticks / 90
    }
    return units.at(-count)
  }
  return { stream, hint: new FrameRateHint(stream), frames }
}

const ratesOf = (unit: AccessUnit | undefined) => (unit?.nals('H264') ?? []).flatMap((nal) => frameRateOfSps(nal) ?? [])
const describedRate = ({ stream, hint }: ReturnType<typeof setUp>) => {
  const caps = stream.caps && hint.describe(stream.caps)
  return frameRateOfSps(Buffer.from(caps?.parameters.get('sprop-parameter-sets')?.split(',')[0] ?? '', 'base64'))
}

describe('the frame rate of a stream whose sets do not say it', () => {
  it.each([
    ['packets of their own', [SPS, PPS]],
    ['one packet', [stapA(SPS, PPS)]],
  ])('is told to who joins, in %s', (_, sets) => {
    const it = setUp()
    const key = it.frames(10, sets)
    expect(describedRate(it)).toBe(25)
    const reader = it.hint.join()
    const told = key && reader(key)
    expect(ratesOf(told)).toEqual([25])
    expect(told?.nals('H264').map((nal) => (nal[0] ?? 0) & 31)).toEqual([7, 8, 5])
    expect([told?.packetCount, told?.firstSequence, told?.timestamp]).toEqual([key?.packetCount, key?.firstSequence, key?.timestamp])
    expect(told?.packets().map((packet) => packet.subarray(0, 12))).toEqual(key?.packets().map((packet) => packet.subarray(0, 12)))
    // Made once for all; also for the key frames to come.
    expect(key && it.hint.join()(key)).toBe(told)
    const next = it.frames(3, sets)
    expect(ratesOf(next && reader(next))).toEqual([25])
  })

  it('counts the two fields of a frame once, also when each has a time', () => {
    const sps = Buffer.from('674d4015f40a087e5c0440000003004000000c87c50aa8', 'hex')
    const { vuiAt = 0, frameNumBits = 0 } = parseH264Sps(sps) ?? {}
    const silent = new BitWriter()
    silent.copy(new BitReader(withoutEmulation(sps)), vuiAt)
    silent.bit(0)
    const field = (type: number): Buffer => {
      const bits = new BitWriter()
      bits.number(type, 8)
      for (const code of [0, 7, 0]) bits.ue(code)
      bits.number(0, frameNumBits)
      bits.bit(1)
      return Buffer.from(bits.finish())
    }
    const { stream, send } = beginStream()
    send([Buffer.from(withEmulation(silent.finish())), PPS, field(0x65)], 1800)
    for (let at = 1; at < 20; at += 1) send([field(0x41)], 1800)
    expect(new FrameRateHint(stream).rate()).toEqual({ numerator: 25, denominator: 1 })
  })

  it('is not told to who was there before, since the sets of a reader must stay the same', () => {
    const it = setUp()
    const key = it.frames(1, [SPS, PPS])
    const early = it.hint.join()
    it.frames(9)
    const late = it.hint.join()
    const next = it.frames(1, [SPS, PPS])
    if (key === undefined || next === undefined) throw new Error('two key frames')
    expect([early(key), early(next)]).toEqual([key, next])
    expect(ratesOf(late(next))).toEqual([25])
  })

  it('is told in the description alone when the sets are there alone', () => {
    const it = setUp()
    const key = it.frames(10, [])
    expect(describedRate(it)).toBe(25)
    expect(key && it.hint.join()(key)).toBe(key)
  })

  it('is measured again when more pictures have come, for who joins then', () => {
    const it = setUp()
    const key = it.frames(7, [SPS, PPS], 3000)
    const early = it.hint.join()
    it.frames(200, undefined, 3600)
    const late = it.hint.join()
    if (key === undefined) throw new Error('a key frame')
    expect([ratesOf(early(key)), ratesOf(late(key))]).toEqual([[30], [25]])
    expect(early(key)).toBe(early(key))
  })

  it('stays when the next GOP has another one, and is measured again with another set', () => {
    const it = setUp()
    it.frames(10, [SPS, PPS])
    it.hint.join()
    it.frames(10, [SPS, PPS], 9000)
    expect(it.hint.rate()).toEqual({ numerator: 25, denominator: 1 })
    expect(it.hint.mustBeGuessed).toBe(false)
    it.frames(10, [OTHER_SPS, PPS], 9000)
    expect(it.hint.rate()).toEqual({ numerator: 10, denominator: 1 })
  })

  it.each([
    ['the sets say it', TIMED_SPS, 10, false],
    ['the sets say it from the first picture on', TIMED_SPS, 1, false],
    ['too few pictures have come', SPS, 5, true],
  ])('is not told when %s', (_, sps, count, mustBeGuessed) => {
    const it = setUp(sps)
    const key = it.frames(count, [sps, PPS])
    const before = it.stream.caps
    expect(it.hint.mustBeGuessed).toBe(mustBeGuessed)
    expect(it.hint.rate()).toBeUndefined()
    expect(before && it.hint.describe(before)).toBe(before)
    expect(key && it.hint.join()(key)).toBe(key)
  })
})

describe('a frame rate that is measured', () => {
  const times = (...steps: readonly number[]) =>
    steps.map((_, at) => ({ mediaMs: steps.slice(0, at + 1).reduce((sum, step) => sum + step, 0) }))
  const every = (ms: number, count = 20) => times(...Array.from({ length: count }, () => ms))

  it.each([
    ['25', every(40), 25, 1],
    ['30', every(1000 / 30), 30, 1],
    ['29.97', every(1001 / 30), 30_000, 1001],
    ['23.976', every(1001 / 24), 24_000, 1001],
    ['59.94', every(1001 / 60), 60_000, 1001],
    ['12.5', every(80), 12_500, 1000],
    ['milliseconds of a camera', times(...Array.from({ length: 30 }, (_, at) => (at % 3 === 0 ? 34 : 33))), 30, 1],
    ['lost pictures', times(40, 40, 40, 200, 40, 40, 40, 120, 40, 40), 25, 1],
    ['pictures in the order of decoding', every(40).flatMap((unit, at, all) => (at % 2 === 0 ? [all[at + 1] ?? unit, unit] : [])), 25, 1],
    ['two units of one picture', every(40).flatMap((unit) => [unit, unit]), 25, 1],
  ])('%s', (_, units, numerator, denominator) => {
    expect(measureFrameRate(units)).toEqual({ numerator, denominator })
  })

  it.each([
    ['too few', every(40, 5)],
    ['of one moment', every(0)],
    ['less than one a second', every(1500)],
    ['more than 240 a second', every(3)],
  ])('not of pictures that are %s', (_, units) => {
    expect(measureFrameRate(units)).toBeUndefined()
  })
})
