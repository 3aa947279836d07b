import { expect, it } from 'vitest'
import { aggregatedUnits } from '../../../../engine/codec/aggregation.ts'
import { FloodGuard } from '../../../../engine/ingest/flood-guard.ts'
import { TransportFeed } from '../../../../engine/ingest/transport-feed.ts'
import { beginStream, IDR } from '../../../helpers/rtsp/packets.ts'

it.each([
  ['one packet each passes', 1, undefined],
  ['many packets each counts as several', 400, 'source_flood'],
])('a hundred pictures at once: %s', (_, packets, reason) => {
  const { stream, send } = beginStream()
  const guard = new FloodGuard([stream])
  for (let at = 0; at < 100; at += 1) send(Array.from({ length: packets }, () => IDR))
  const check = (): unknown => {
    try {
      return guard.check()
    } catch (error) {
      return (error as { readonly reason: string }).reason
    }
  }
  expect(check()).toBe(reason)
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
