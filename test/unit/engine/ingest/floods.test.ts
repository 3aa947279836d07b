import { expect, it } from 'vitest'
import { aggregatedUnits } from '../../../../engine/codec/aggregation.ts'
import { FloodGuard } from '../../../../engine/ingest/flood-guard.ts'
import { TransportFeed } from '../../../../engine/ingest/transport-feed.ts'
import { beginStream, capsOf, H264_CAPS, IDR } from '../../../helpers/rtsp/packets.ts'

const reasonOf = (guard: FloodGuard): unknown => {
  try {
    return guard.check()
  } catch (error) {
    return (error as { readonly reason: string }).reason
  }
}

it.each([
  ['one packet each passes', 1, undefined],
  ['many packets each counts as several', 400, 'source_flood'],
])('a hundred pictures at once: %s', (_, packets, reason) => {
  const { stream, send } = beginStream()
  const guard = new FloodGuard([stream])
  for (let at = 0; at < 100; at += 1) send(Array.from({ length: packets }, () => IDR))
  expect(reasonOf(guard)).toBe(reason)
  guard.close()
})

it('caps that a child sets again and again are a flood', () => {
  const { stream } = beginStream()
  const guard = new FloodGuard([stream])
  for (let at = 0; at < 1000; at += 1) stream.setCaps(capsOf(H264_CAPS))
  expect(reasonOf(guard)).toBe('source_flood')
  guard.close()
})

it('MPEG-TS counts by its bytes, however much comes at once', () => {
  const feed = new TransportFeed(undefined, () => {})
  const read = (): void => feed.take(Buffer.alloc(65_536))
  for (let at = 0; at < 100; at += 1) read()
  expect(() => {
    for (let at = 0; at < 1000; at += 1) read()
  }).toThrow(expect.objectContaining({ reason: 'source_flood' }))
})

it('an aggregation packet has as many NAL units as an encoder makes, at most', () => {
  const { units, isWhole } = aggregatedUnits(Buffer.alloc(60_000, Buffer.from('000165', 'hex')))
  expect([units.length < 1000, isWhole]).toEqual([true, false])
})
