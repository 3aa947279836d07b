import { expect, it } from 'vitest'
import { createFrameKlv } from '../../../../../../handlers/dashboard/page/player/frame-klv.ts'

it('has the KLV of the frame that is shown, also when frames were left out or a packet came late, and keeps few', () => {
  const klv = createFrameKlv()
  const packet = (timestamp: number): Uint8Array => Uint8Array.of(timestamp)
  for (const timestamp of [10, 20, 30, 40]) klv.take(timestamp, packet(timestamp))
  expect([5, 10, 30, 30].map((timestamp) => klv.shown(timestamp)?.[0])).toEqual([undefined, 10, 30, undefined])
  klv.take(25, packet(25))
  expect([45, 50].map((timestamp) => klv.shown(timestamp)?.[0])).toEqual([40, undefined])
  for (let timestamp = 1000; timestamp < 2000; timestamp += 1) klv.take(timestamp, packet(0))
  expect(klv.shown(1700)).toBeUndefined()
})
