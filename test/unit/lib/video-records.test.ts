import { describe, expect, it } from 'vitest'
import { configRecord, eventRecord, VideoRecordParser, withRecordHeader } from '../../../lib/video-records.ts'

const CONFIG = { codec: 'avc1.640028', codedWidth: 1920, codedHeight: 1080 }
const JSON_OF_CONFIG = Buffer.from(JSON.stringify(CONFIG))
const KEY = Uint8Array.from({ length: 300 }, (_, index) => index)

/** Written from the description of the format. */
const STREAM = Buffer.concat([
  Buffer.from('01 0000000000000000 0000003c'.replaceAll(' ', ''), 'hex'),
  JSON_OF_CONFIG,
  Buffer.from('02 00000000000f4240 0000012c'.replaceAll(' ', ''), 'hex'),
  KEY,
  Buffer.from('03 000000e8d4a51000 00000000'.replaceAll(' ', ''), 'hex'),
  Buffer.from('c8 0000000000000005 00000003 090807'.replaceAll(' ', ''), 'hex'),
])
const RECORDS = [
  { kind: 1, time: 0, payload: [...JSON_OF_CONFIG] },
  { kind: 2, time: 1_000_000, payload: [...KEY] },
  { kind: 3, time: 1e12, payload: [] },
  { kind: 200, time: 5, payload: [9, 8, 7] },
]

describe('video records', () => {
  it.each([1, 2, 3, 5, 8, 13, 14, 59, 1000])('are read in pieces of %d bytes', (length) => {
    const parser = new VideoRecordParser()
    const pieces = Array.from({ length: Math.ceil(STREAM.length / length) }, (_, at) => STREAM.subarray(at * length, (at + 1) * length))
    const read = pieces.flatMap((piece) => parser.push(piece))
    expect(read.map((record) => ({ ...record, payload: [...record.payload] }))).toEqual(RECORDS)
  })

  it('have memory of their own', () => {
    const piece = Buffer.from(STREAM)
    const [, key] = new VideoRecordParser().push(piece)
    piece.fill(0)
    expect([...(key?.payload ?? [])]).toEqual([...KEY])
  })

  it('are refused when one is longer than any picture', () => {
    const header = Buffer.from(`02${'0'.repeat(16)}ffffffff`, 'hex')
    expect(() => new VideoRecordParser().push(header)).toThrow('cannot be read')
  })

  it('are written as they are read', () => {
    const picture = Buffer.concat([Buffer.alloc(13), KEY])
    const event = Buffer.from('{"type":"source_lost"}')
    expect(Buffer.concat([configRecord(-1, CONFIG), withRecordHeader(picture, 2, 1000)])).toEqual(STREAM.subarray(0, 13 + 60 + 13 + 300))
    expect(eventRecord(0.0014, 'source_lost')).toEqual(Uint8Array.from([4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, event.length, ...event]))
  })
})
