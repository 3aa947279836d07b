import { describe, expect, it } from 'vitest'
import { otherCodec } from '../../../../../engine/rtp/repair/other-codec.ts'
import { IDR, SLICE } from '../../../../helpers/rtsp/packets.ts'

const H264 = ['6742c00dda0507ec05a8303035280000030008000003', '68ce3c80'].map((hex) => Buffer.from(hex, 'hex'))
const H265 = ['40010c01ffff01600000', '420101016000000300', '4401c173'].map((hex) => Buffer.from(hex, 'hex'))
const H265_IDR = Buffer.from('2601af08', 'hex')

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
