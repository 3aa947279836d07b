import { describe, expect, it } from 'vitest'
import { Reader } from '../../../../engine/mount/reader.ts'
import type { Sink } from '../../../../engine/mount/sink.ts'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { framedPackets, H264_CAPS, IDR, KLV_CAPS, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

interface Sent {
  readonly track: number
  readonly unit: AccessUnit
  readonly timestamp: number
}

class FakeSink implements Sink {
  busy = false
  stuckSinceMs = undefined
  onReady: () => void = () => {}
  readonly sent: Sent[] = []
  readonly reports: Buffer[] = []

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    this.sent.push({ track, unit, timestamp: timestamp ?? unit.timestamp })
    return unit.bytes
  }

  sendReport(_: number, packet: Buffer): void {
    this.reports.push(packet)
  }

  close(): void {}
}

const setUp = (limits = { queuedBytes: 1_000_000, lagMs: 2000 }, guessed = false) => {
  const clock = { ms: 1000 }
  const timeline = new Timeline(0)
  const [video, klv] = [H264_CAPS, KLV_CAPS].map((text) => {
    const stream = new RtpStream({ timeline, now: () => clock.ms })
    const caps = parseRtpCaps(text)
    stream.begin()
    if (caps) stream.setCaps(caps)
    return stream
  })
  if (!video || !klv) throw new Error('two streams')
  const sink = new FakeSink()
  const counters = { bytesOut: 0, gopDrops: 0 }
  const reader = new Reader([video, klv], sink, limits, counters, { guessed, replaceFor: () => (unit) => unit })
  video.onUnit((unit) => reader.offer(0, unit))
  klv.onUnit((unit) => reader.offer(1, unit))
  let frame = 0
  /** `K` a key frame, `d` a delta frame, `m` a KLV packet, `.` a frame's time without one. */
  const feed = (pattern: string, payloadBytes = 100) => {
    for (const kind of pattern) {
      const start = kind === 'K' ? IDR : SLICE
      const packet = rtpPacket({ sequence: frame, timestamp: frame * 3000, payload: Buffer.concat([start, Buffer.alloc(payloadBytes)]) })
      if (kind !== '.') (kind === 'm' ? klv : video).ingest(framedPackets(packet))
      if (kind === 'm') continue
      frame += 1
      clock.ms += 1000 / 30
    }
  }
  const play = () => {
    const starts = reader.prepare(clock.ms)
    reader.start()
    return starts
  }
  const kinds = () => sink.sent.map(({ track, unit }) => (track === 1 ? 'm' : unit.key ? 'K' : 'd')).join('')
  return { reader, sink, counters, feed, play, kinds, video, clock }
}

describe('a reader', () => {
  it('gets the cached GOP at once with compressed timestamps in order, then live media without a gap', () => {
    const { sink, feed, play, kinds } = setUp()
    feed('ddKddddddddd')
    const [start] = play()
    feed('dd')
    expect(kinds()).toBe('Kddddddddddd')
    const first = sink.sent[0]
    expect(start).toEqual({ timestamp: first?.timestamp, sequence: first?.unit.firstSequence })
    const steps = sink.sent.slice(1).map(({ timestamp }, at) => (timestamp - (sink.sent[at]?.timestamp ?? 0)) | 0)
    expect(steps.slice(0, 9).reduce((sum, step) => sum + step, 0)).toBe(40 * 90)
    expect(Math.min(...steps)).toBeGreaterThan(0)
    expect(steps.slice(9)).toEqual([3000, 3000])
    const sequences = sink.sent.map(({ unit }) => unit.firstSequence)
    expect(sequences).toEqual(sequences.map((_, at) => ((sequences[0] ?? 0) + at) & 0xffff))
  })

  it('gets the cached GOP with its own times where it has to guess the frame rate by them', () => {
    const { sink, feed, play } = setUp(undefined, true)
    feed('Kddd')
    play()
    feed('dd')
    expect(sink.sent.slice(1).map(({ timestamp }, at) => (timestamp - (sink.sent[at]?.timestamp ?? 0)) | 0)).toEqual(Array(5).fill(3000))
    const late = setUp(undefined, true)
    late.feed(`K${'d'.repeat(20)}`)
    late.play()
    const times = late.sink.sent.map(({ timestamp }) => timestamp)
    expect(((times.at(-1) ?? 0) - (times[0] ?? 0)) | 0).toBe(40 * 90)
  })

  it('gets a GOP of five minutes too, at times that differ', () => {
    const { sink, feed, play } = setUp({ queuedBytes: 64_000_000, lagMs: 2000 })
    feed(`K${'d'.repeat(8999)}`, 10)
    play()
    feed('d')
    expect(sink.sent).toHaveLength(9001)
    const steps = sink.sent.slice(1).map(({ timestamp }, at) => (timestamp - (sink.sent[at]?.timestamp ?? 0)) | 0)
    expect(Math.min(...steps)).toBeGreaterThan(0)
    expect(steps.slice(0, -1).reduce((sum, step) => sum + step, 0)).toBeLessThanOrEqual(90_000 / 4)
  })

  it('gets a cached GOP that is larger than what it may be behind, and is bounded after it', () => {
    const { sink, feed, play, kinds, counters } = setUp({ queuedBytes: 1000, lagMs: 2000 })
    feed(`K${'d'.repeat(40)}`)
    sink.busy = true
    play()
    feed('ddd')
    sink.busy = false
    sink.onReady()
    expect(kinds()).toBe(`K${'d'.repeat(43)}`)
    sink.busy = true
    feed('d'.repeat(20))
    expect(counters.gopDrops).toBe(1)
  })

  it('waits for the next key frame when no GOP is cached', () => {
    const { feed, play, kinds } = setUp()
    feed('dd')
    expect(play()[0]?.sequence).toBeUndefined()
    feed('ddKd')
    expect(kinds()).toBe('Kd')
  })

  it('gets the newest KLV packet with the GOP, no earlier than its key frame', () => {
    const { sink, feed, play, kinds } = setUp()
    feed('mKdd')
    const starts = play()
    expect(kinds()).toBe('Kddm')
    expect(sink.sent.at(-1)?.timestamp).toBe(starts[1]?.timestamp)
  })

  it('that falls behind within the limits gets everything in order', () => {
    const { sink, feed, play, kinds, counters } = setUp()
    feed('K')
    play()
    sink.busy = true
    feed('ddmdKdd')
    expect(kinds()).toBe('K')
    sink.busy = false
    sink.onReady()
    expect(kinds()).toBe('KddmdKdd')
    expect(counters.gopDrops).toBe(0)
  })

  it('beyond its queue limit loses the queue and continues at a key frame', () => {
    const { sink, feed, play, kinds, counters } = setUp({ queuedBytes: 1000, lagMs: 2000 })
    feed('K')
    play()
    sink.busy = true
    feed('dddddddddddd')
    sink.busy = false
    sink.onReady()
    feed('dddKdd')
    expect(kinds()).toBe('KKdd')
    expect(counters.gopDrops).toBe(1)
  })

  it('loses its queue of very many units, however small they are', () => {
    const { sink, feed, play, counters } = setUp()
    feed('K')
    play()
    sink.busy = true
    feed('d'.repeat(17_000), 0)
    expect(counters.gopDrops).toBe(1)
  })

  it('beyond its queue limit continues at a key frame that is queued already', () => {
    const { sink, feed, play, kinds } = setUp({ queuedBytes: 1000, lagMs: 2000 })
    feed('K')
    play()
    sink.busy = true
    feed('dddddKddd')
    sink.busy = false
    sink.onReady()
    expect(kinds()).toBe('KKddd')
  })

  it('that lags for seconds continues at the next key frame, though its queue is within the limit', () => {
    const { sink, feed, play, kinds, counters } = setUp({ queuedBytes: 1_000_000, lagMs: 500 })
    feed('K')
    play()
    sink.busy = true
    feed(`${'d'.repeat(20)}Kd`)
    sink.busy = false
    sink.onReady()
    expect(kinds()).toBe('KKd')
    expect(counters.gopDrops).toBe(1)
  })

  it('gets the whole cached GOP even when the next key frame arrives while it is sent', () => {
    const { sink, feed, play, kinds, counters } = setUp({ queuedBytes: 1_000_000, lagMs: 500 })
    feed(`K${'d'.repeat(30)}`)
    sink.busy = true
    play()
    feed('Kd')
    sink.busy = false
    sink.onReady()
    expect(kinds()).toBe(`K${'d'.repeat(30)}Kd`)
    expect(counters.gopDrops).toBe(0)
  })

  it('always starts and continues at a key frame', () => {
    const { sink, feed, play, kinds, reader } = setUp({ queuedBytes: 1500, lagMs: 300 })
    play()
    for (let at = 0; at < 300; at += 1) {
      sink.busy = (at * 7919) % 13 < 9
      if (!sink.busy) sink.onReady()
      if (at % 97 === 50) reader.pause()
      if (at % 97 === 53) play()
      feed(at % 12 === 5 ? 'K' : 'd')
    }
    const video = sink.sent.filter(({ track }) => track === 0)
    for (const [at, { unit }] of video.entries()) {
      const before = video[at - 1]?.unit
      const follows = before !== undefined && ((before.lastSequence + 1) & 0xffff) === unit.firstSequence
      expect(follows || unit.key, kinds()).toBe(true)
    }
    expect(video.length).toBeGreaterThan(50)
  })

  it('does not get units again after a pause', () => {
    const { feed, play, kinds, reader } = setUp()
    feed('K')
    play()
    feed('dd')
    reader.pause()
    feed('d')
    expect(play()[0]?.sequence).toBeUndefined()
    feed('dKd')
    expect(kinds()).toBe('KddKd')
  })
})
