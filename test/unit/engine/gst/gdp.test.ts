import { describe, expect, it } from 'vitest'
import { type GdpBuffer, GdpReader, gdpBuffers, gdpSegmentDone, gdpStart } from '../../../../engine/gst/gdp.ts'

const read = (chunks: readonly Buffer[], maxPayloadBytes = 1000) => {
  const [buffers, caps]: [GdpBuffer[], string[]] = [[], []]
  const reader = new GdpReader(maxPayloadBytes, { onBuffer: (buffer) => buffers.push(buffer), onCaps: (text) => caps.push(text) })
  const readable = chunks.map((chunk) => reader.push(chunk))
  return { buffers, caps, readable }
}

describe('the GStreamer Data Protocol', () => {
  const payload = Buffer.from('a picture')
  const whole = Buffer.concat([gdpStart('image/jpeg'), gdpBuffers([payload], 7n), gdpSegmentDone(7n), gdpBuffers([Buffer.alloc(0)])])
  const buffers = [
    { payload, pts: 7n },
    { payload: Buffer.alloc(0), pts: 0xffff_ffff_ffff_ffffn },
  ]

  it('is read in pieces of any size', () => {
    for (let size = 1; size <= whole.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) => whole.subarray(at * size, (at + 1) * size))
      expect(read(chunks)).toEqual({ buffers, caps: ['image/jpeg'], readable: chunks.map(() => true) })
    }
  })

  it('is read no further when it is too large or something else', () => {
    const large = gdpBuffers([Buffer.alloc(1001)])
    expect(read([whole, large, whole])).toMatchObject({ buffers, readable: [true, false, false] })
    expect(read([Buffer.alloc(62), whole])).toMatchObject({ buffers: [], readable: [false, false] })
    // Its length alone tells: nothing is held until it is there.
    expect(read([large.subarray(0, 62)])).toMatchObject({ buffers: [], readable: [false] })
  })
})
