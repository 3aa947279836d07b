import { describe, expect, it } from 'vitest'
import { depacketizeH264, depacketizeH265 } from '../../../../engine/codec/depacketize.ts'
import { nalBytes } from '../../../../engine/codec/nal.ts'

const bytes = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** `type:bytes` of each NAL unit. */
const shown = (nals: ReturnType<typeof depacketizeH264>): readonly string[] =>
  nals.map((nal) => `${nal.type}:${Buffer.from(nalBytes(nal)).toString('hex')}`)

describe('H.264 out of RTP (RFC 6184)', () => {
  it.each([
    ['single NAL units', ['6742c01e', '68ce3c80', '6588aa'], ['7:6742c01e', '8:68ce3c80', '5:6588aa']],
    ['an aggregation of two', ['78 0004 6742c01e 0003 68ce3c'], ['7:6742c01e', '8:68ce3c']],
    ['a NAL unit in three fragments', ['7c 85 aabb', '7c 05 ccdd', '7c 45 ee'], ['5:65aabbccddee']],
    ['a fragment whose first part is lost', ['7c 05 ccdd', '7c 45 ee', '6588aa'], ['5:6588aa']],
    ['a fragment whose last part is lost', ['7c 85 aabb', '4188aa'], ['1:4188aa']],
    ['a fragment that another NAL unit interrupts', ['7c 85 aabb', '4188aa', '7c 45 ee'], ['1:4188aa']],
    ['an aggregation that is cut', ['78 0004 6742c01e 0030 68ce3c'], ['7:6742c01e']],
    ['empty payloads, and packets of interleaved mode', ['', '79 0001 0002 6588', '1f00'], []],
  ])('reads %s', (_what, payloads, nals) => {
    expect(shown(depacketizeH264(payloads.map(bytes)))).toEqual(nals)
  })
})

describe('H.265 out of RTP (RFC 7798)', () => {
  it.each([
    ['single NAL units', ['40010c', '2601af'], ['32:40010c', '19:2601af']],
    ['an aggregation of two', ['6001 0003 42010c 0003 440199'], ['33:42010c', '34:440199']],
    ['a CRA picture in fragments', ['6201 95 aa', '6201 15 bb', '6201 55 cc'], ['21:2a01aabbcc']],
    ['nothing of a PACI packet', ['6401 0000'], []],
  ])('reads %s', (_what, payloads, nals) => {
    expect(shown(depacketizeH265(payloads.map(bytes)))).toEqual(nals)
  })
})
