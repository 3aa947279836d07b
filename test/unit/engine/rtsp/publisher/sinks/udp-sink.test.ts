import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { AccessUnit } from '../../../../../../engine/rtp/access-unit.ts'
import type { RtpPort } from '../../../../../../engine/rtsp/publisher/sinks/rtp-port.ts'
import { UdpSink } from '../../../../../../engine/rtsp/publisher/sinks/udp-sink.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const unitOf = (count: number): AccessUnit => {
  const packets = Array.from({ length: count }, () => Buffer.alloc(100, 0x80))
  const sequences = packets.map((_, at) => at)
  return AccessUnit.of(packets, { payload: 96, ssrc: 1, timestamp: 0, sequences }, { index: 0, key: true, mediaMs: 0, arrivedMs: 0 })
}

/** A port that takes what `room` allows, and what it was sent: when, from which packet on, and how many. */
const startSink = (room = { packets: Number.POSITIVE_INFINITY }) => {
  const sent: { atMs: number; from: number; count: number }[] = []
  const began = performance.now()
  const rtp: RtpPort = {
    port: 5000,
    refusedSinceMs: undefined,
    send: ({ starts }, from, limit) => {
      const count = Math.min(limit, room.packets, starts.length - 1 - from)
      room.packets -= count
      sent.push({ atMs: performance.now() - began, from, count })
      return count
    },
    close: () => {},
  }
  const sink = new UdpSink([{ rtp, rtcp: {} as never, rtcpPort: 5001 }])
  const ready = vi.fn()
  sink.onReady = ready
  return { sink, sent, ready, room }
}

const total = (sent: readonly { readonly count: number }[]): number => sent.reduce((sum, { count }) => sum + count, 0)

describe('a unit over UDP', () => {
  it('is sent at once when the buffer of a reader has room for it', () => {
    const { sink, sent } = startSink()
    sink.send(0, unitOf(40), undefined)
    expect([sent, sink.busy]).toEqual([[{ atMs: 0, from: 0, count: 40 }], false])
  })

  it('that is larger follows at four packets a millisecond, sixteen at a time', async () => {
    const { sink, sent, ready } = startSink()
    sink.send(0, unitOf(100), undefined)
    expect([total(sent), sink.busy]).toEqual([40, true])
    await vi.advanceTimersByTimeAsync(14)
    expect([total(sent), sink.busy]).toEqual([88, true])
    await vi.advanceTimersByTimeAsync(2)
    expect([total(sent), sink.busy, ready.mock.calls.length]).toEqual([100, false, 1])
    expect(sent.map(({ count }) => count)).toEqual([40, 16, 16, 16, 12])
    expect(sent.every(({ from }, at) => from === total(sent.slice(0, at)))).toBe(true)
  })

  it('waits a millisecond for a socket whose buffer is full', async () => {
    const { sink, sent, room } = startSink({ packets: 5 })
    sink.send(0, unitOf(20), undefined)
    await vi.advanceTimersByTimeAsync(3)
    expect(sent.map(({ atMs, count }) => [atMs, count])).toEqual([
      [0, 5],
      [1, 0],
      [2, 0],
      [3, 0],
    ])
    room.packets = 100
    await vi.advanceTimersByTimeAsync(1)
    expect([total(sent), sink.busy]).toEqual([20, false])
  })
})
