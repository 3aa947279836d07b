import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AccessUnit } from '../../../../../engine/rtp/access-unit.ts'
import { inBandFormat, otherCodec } from '../../../../../engine/rtp/repair/in-band-format.ts'
import { RtpStream } from '../../../../../engine/rtp/stream.ts'
import { framedPackets, IDR, rtpPacket, SLICE } from '../../../../helpers/rtsp/packets.ts'

const H264 = ['6742c00dda0507ec05a8303035280000030008000003', '68ce3c80'].map((hex) => Buffer.from(hex, 'hex'))
const H265 = ['40010c01ffff01600000', '420101016000000300', '4401c173'].map((hex) => Buffer.from(hex, 'hex'))
const H265_IDR = Buffer.from('2601af08', 'hex')

const packetsOf = (payloads: readonly Buffer[]) =>
  payloads.map((payload, sequence) => rtpPacket({ sequence, timestamp: 0, marker: sequence === payloads.length - 1, payload }))

describe('the format that parameter sets tell', () => {
  it.each([
    ['H264', [...H264, IDR], { 'sprop-parameter-sets': H264.map((set) => set.toString('base64')).join() }],
    [
      'H265',
      [...H265, H265_IDR],
      Object.fromEntries(['sprop-vps', 'sprop-sps', 'sprop-pps'].map((name, at) => [name, H265[at]?.toString('base64')])),
    ],
  ])('is that of %s', (codec, payloads, sets) => {
    const format = inBandFormat([...payloads, ...payloads])
    expect([format?.codec, Object.fromEntries(format?.parameters ?? [])]).toEqual([codec, sets])
  })

  it('is none without them', () => {
    expect(inBandFormat([IDR, SLICE, Buffer.from('4101', 'hex')])).toBeUndefined()
    expect(inBandFormat([])).toBeUndefined()
  })
})

describe('a source that changes its codec', () => {
  it('is known by a sequence parameter set of the other one, also in an aggregation packet', () => {
    const [, sps = Buffer.alloc(0)] = H265
    const aggregate = Buffer.concat([Buffer.from('6001', 'hex'), Buffer.from([0, sps.length]), sps])
    expect([sps, aggregate].map((payload) => otherCodec('H264', payload))).toEqual(['H265', 'H265'])
    expect(otherCodec('H265', H264[0] ?? sps)).toBe('H264')
  })

  it('is none that goes on with its own units', () => {
    expect([...H264, IDR, SLICE, Buffer.from('6101', 'hex')].map((payload) => otherCodec('H264', payload))).toEqual(
      Array(5).fill(undefined),
    )
    expect([...H265, H265_IDR].map((payload) => otherCodec('H265', payload))).toEqual(Array(4).fill(undefined))
  })
})

describe('a run whose caps are not printed', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  const start = (options: Parameters<RtpStream['begin']>[0]) => {
    const stream = new RtpStream()
    const units: AccessUnit[] = []
    stream.onUnit((unit) => units.push(unit))
    stream.begin(options)
    return { stream, units }
  }

  it('begins a second later, with what the packets say', async () => {
    const { stream, units } = start({ fragmenting: true })
    stream.ingest(framedPackets(...packetsOf([...H264, IDR])))
    await vi.advanceTimersByTimeAsync(900)
    expect([stream.caps, units.length]).toEqual([undefined, 0])
    await vi.advanceTimersByTimeAsync(200)
    expect([stream.caps?.encodingName, units.map(({ key }) => key)]).toEqual(['H264', [true]])
  })

  it('waits for them when the payloader may be any other', async () => {
    const { stream, units } = start({})
    stream.ingest(framedPackets(...packetsOf([...H264, IDR])))
    await vi.advanceTimersByTimeAsync(5000)
    expect([stream.caps, units]).toEqual([undefined, []])
  })
})
