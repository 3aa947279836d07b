import { Writable } from 'node:stream'
import { beforeEach, expect, it, vi } from 'vitest'
import type { AccessUnit } from '../../../../../../engine/rtp/access-unit.ts'
import { InterleavedSink } from '../../../../../../engine/rtsp/publisher/sinks/interleaved-sink.ts'
import { fakeTimersInEachTest } from '../../../../../helpers/fake-timers.ts'

fakeTimersInEachTest()

const unitOf = (name: string): AccessUnit => {
  const framed = Buffer.from(name)
  const framedAfter = (first: readonly Buffer[]) => Buffer.concat([...first, framed])
  return { bytes: framed.length, framed: () => framed, framedAfter } as unknown as AccessUnit
}

let written: Buffer[]
const openSink = () => {
  const connection = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk)
      done()
    },
  })
  return new InterleavedSink(connection, [0, 2, 4])
}
const texts = (): readonly string[] => written.map(String)

beforeEach(() => {
  written = []
})

it('writes sound with the next picture, in their order', () => {
  const [one, other] = [openSink(), openSink()]
  const [key, first, second, delta] = ['K', 's1', 's2', 'd'].map(unitOf) as [AccessUnit, AccessUnit, AccessUnit, AccessUnit]
  for (const sink of [one, other]) {
    sink.send(0, key, undefined)
    expect([sink.send(2, first, undefined), sink.send(2, second, undefined)]).toEqual([2, 2])
    sink.send(0, delta, undefined)
  }
  expect(texts()).toEqual(['K', 's1s2d', 'K', 's1s2d'])
})

it('holds no sound back for pictures that do not come', () => {
  const sink = openSink()
  sink.send(2, unitOf('s0'), undefined)
  sink.send(0, unitOf('K'), undefined)
  sink.send(2, unitOf('s1'), undefined)
  vi.advanceTimersByTime(21)
  sink.send(2, unitOf('s2'), undefined)
  vi.advanceTimersByTime(21)
  sink.send(2, unitOf('s3'), undefined)
  vi.advanceTimersByTime(60)
  sink.send(2, unitOf('s4'), undefined)
  expect(texts()).toEqual(['s0', 'K', 's1s2s3', 's4'])
})
