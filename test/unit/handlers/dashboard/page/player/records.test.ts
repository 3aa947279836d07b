import { describe, expect, it } from 'vitest'
import { createRecordParser } from '../../../../../../handlers/dashboard/page/player/records.ts'

const record = (kind: number, time: number, payload: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(13 + payload.length)
  const view = new DataView(bytes.buffer)
  view.setUint8(0, kind)
  view.setBigUint64(1, BigInt(time))
  view.setUint32(9, payload.length)
  bytes.set(payload, 13)
  return bytes
}
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value))

const CONFIG = { codec: 'avc1.640028', codedWidth: 1920, codedHeight: 1080 }
const KEY = Uint8Array.from({ length: 300 }, (_, index) => index)
const DELTA = Uint8Array.of(9, 8, 7)
const STREAM = Uint8Array.from(
  [
    record(1, 0, json(CONFIG)),
    record(2, 1_000_000, KEY),
    record(3, 1_033_333, DELTA),
    record(3, 1_066_667, new Uint8Array()),
    record(4, 0, json({ type: 'source_lost' })),
    record(200, 5, DELTA),
    record(4, 0, json({ type: 'source_back' })),
  ].flatMap((bytes) => [...bytes]),
)
const RECORDS = [
  CONFIG,
  ['key', 1_000_000, [...KEY]],
  ['delta', 1_033_333, [...DELTA]],
  ['delta', 1_066_667, []],
  'source_lost',
  'source_back',
]

const parsed = (pieces: readonly Uint8Array[]): readonly unknown[] => {
  const records: unknown[] = []
  const parse = createRecordParser({
    onConfig: (config) => records.push(config),
    onUnit: ({ type, timestamp, data }) => records.push([type, timestamp, [...data]]),
    onSource: (type) => records.push(type),
  })
  for (const piece of pieces) parse(piece)
  return records
}

const piecesOf = (length: number): readonly Uint8Array[] =>
  Array.from({ length: Math.ceil(STREAM.length / length) }, (_, index) => STREAM.subarray(index * length, (index + 1) * length))

describe('the parser of video records', () => {
  it('reads every kind, and skips those that it does not know', () => {
    expect(parsed([STREAM])).toEqual(RECORDS)
  })

  it('reads them in pieces of every length', () => {
    for (let length = 1; length < 60; length++) expect(parsed(piecesOf(length))).toEqual(RECORDS)
  })

  it('gives each unit memory of its own', () => {
    const units: Uint8Array[] = []
    const parse = createRecordParser({ onConfig: () => {}, onUnit: ({ data }) => units.push(data), onSource: () => {} })
    const piece = record(2, 1, KEY)
    parse(piece)
    piece.fill(0)
    expect([...(units[0] ?? [])]).toEqual([...KEY])
  })

  it('refuses a record that is longer than any frame', () => {
    const header = record(2, 1, new Uint8Array())
    new DataView(header.buffer).setUint32(9, 0xff_ff_ff_ff)
    expect(() => parsed([header])).toThrow('cannot be read')
  })
})
