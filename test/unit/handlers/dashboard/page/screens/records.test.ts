import { expect, it } from 'vitest'
import { createRecordReader } from '../../../../../../handlers/dashboard/page/screens/records.ts'
import { configRecord, eventRecord, type SourceEvent, withRecordHeader } from '../../../../../../lib/video-records.ts'

const CONFIG = { codec: 'avc1.640028', codedWidth: 1920, codedHeight: 1080 }

it('the player reads every kind of record, and leaves out those of later versions', () => {
  const seen: unknown[] = []
  const read = createRecordReader({
    onConfig: (config) => seen.push(config),
    onChunk: ({ type, timestamp, data }) => seen.push([type, timestamp, [...data]]),
    onSource: (type) => seen.push(type),
  })
  const pictureOf = (kind: 2 | 3) => withRecordHeader(Uint8Array.of(...new Uint8Array(13), 9, 8), kind, 40)
  const later = pictureOf(2)
  later[0] = 200
  const events = (['source_lost', 'source_moved', 'source_back'] as SourceEvent['type'][]).map((type) => eventRecord(0, type))
  for (const record of [configRecord(0, CONFIG), pictureOf(2), pictureOf(3), later, ...events]) read(record)
  expect(seen).toEqual([CONFIG, ['key', 40_000, [9, 8]], ['delta', 40_000, [9, 8]], 'source_lost', 'source_back'])
})
