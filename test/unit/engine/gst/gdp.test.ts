import { describe, expect, it } from 'vitest'
import { type GdpBuffer, GdpReader, gdpBuffers, gdpSegmentDone, gdpStart } from '../../../../engine/gst/gdp.ts'

const read = (chunks: readonly Buffer[], maxPayloadBytes = 1000) => {
  const reader = new GdpReader(maxPayloadBytes)
  const buffers: GdpBuffer[] = []
  const readable = chunks.map((chunk) => reader.push(chunk, (buffer) => buffers.push(buffer)))
  return { buffers, readable }
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
      expect(read(chunks)).toEqual({ buffers, readable: chunks.map(() => true) })
    }
  })

  it('is read no further when it is too large or something else', () => {
    const large = gdpBuffers([Buffer.alloc(1001)])
    expect(read([whole, large, whole])).toEqual({ buffers, readable: [true, false, false] })
    expect(read([Buffer.alloc(62), whole])).toEqual({ buffers: [], readable: [false, false] })
    // Its length alone tells: nothing is held until it is there.
    expect(read([large.subarray(0, 62)])).toEqual({ buffers: [], readable: [false] })
  })
})
