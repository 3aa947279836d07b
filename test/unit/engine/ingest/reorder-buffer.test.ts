import { expect, it } from 'vitest'
import { ReorderBuffer } from '../../../../engine/ingest/reorder-buffer.ts'
import { sequenceOf } from '../../../../engine/rtp/packet/packet.ts'
import { rtpPacket } from '../../../helpers/rtsp/packets.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

const setUp = (waitMs = 100) => {
  const sequences: number[] = []
  const buffer = new ReorderBuffer({ waitMs, deliver: (packet) => sequences.push(sequenceOf(packet)) })
  const push = (sequence: number, atMs = 0): void =>
    buffer.push(rtpPacket({ sequence: sequence & 0xffff, timestamp: 0, payload: Buffer.of(1) }), atMs)
  return { buffer, sequences, push }
}

it.each([
  ['in order', [1, 2, 3], [1, 2, 3]],
  ['over the wrap of the number', [65_534, 65_535, 0, 1], [65_534, 65_535, 0, 1]],
  ['that overtook others', [1, 4, 3, 2, 5], [1, 2, 3, 4, 5]],
  ['that overtook others at the wrap', [65_534, 1, 0, 65_535, 2], [65_534, 65_535, 0, 1, 2]],
  ['that came twice', [1, 2, 2, 4, 4, 3, 3, 1], [1, 2, 3, 4]],
  ['of another series by chance', [1, 2, 30_000, 3], [1, 2, 3]],
  ['of a source that begins anew', [1, 2, 30_000, 30_001, 30_002], [1, 2, 30_001, 30_002]],
])('delivers packets %s: %j', (_, pushed, delivered) => {
  const { push, sequences } = setUp()
  for (const sequence of pushed) push(sequence)
  expect(sequences).toEqual(delivered)
})

it('waits for a missing packet as long as it was asked to, and drops it when it comes later', () => {
  const { buffer, push, sequences } = setUp(100)
  push(1, 0)
  push(3, 10)
  push(5, 20)
  expect([buffer.deadlineMs, sequences]).toEqual([110, [1]])
  buffer.expire(109)
  expect(sequences).toEqual([1])
  buffer.expire(110)
  expect([buffer.deadlineMs, sequences]).toEqual([120, [1, 3]])
  push(2, 111)
  push(4, 112)
  expect([buffer.deadlineMs, sequences]).toEqual([undefined, [1, 3, 4, 5]])
})

it('holds a bounded number of packets', () => {
  const { push, sequences } = setUp()
  push(0)
  for (let sequence = 2; sequence < 2000; sequence += 1) push(sequence)
  expect(sequences.length).toBeGreaterThan(900)
  expect(sequences.slice(0, 3)).toEqual([0, 2, 3])
})

it('puts any order within the wait right', () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = new Random(seed)
    const { push, sequences } = setUp()
    const first = random.integer(65_536)
    const shuffled = Array.from({ length: 500 }, (_, at) => ({ at, key: at === 0 ? -1 : at + random.integer(20) })).toSorted(
      (a, b) => a.key - b.key,
    )
    for (const { at } of shuffled) push(first + at)
    expect(sequences, `seed ${seed}`).toEqual(Array.from({ length: 500 }, (_, at) => (first + at) & 0xffff))
  }
})
