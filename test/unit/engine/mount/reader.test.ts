import { describe, expect, it } from 'vitest'
import { Reader } from '../../../../engine/mount/reader.ts'
import type { Sink } from '../../../../engine/mount/sink.ts'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import type { RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { beginStream, H264_CAPS, IDR, KLV_CAPS, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

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

const LIMITS = { queuedBytes: 1_000_000, lagMs: 2000 }

const setUp = (limits: Partial<typeof LIMITS> = {}, guessed = false) => {
  const clock = { ms: 1000 }
  const timeline = new Timeline(0)
  const [video, klv] = [H264_CAPS, KLV_CAPS].map((caps) => beginStream({ timeline, now: () => clock.ms }, caps).stream) as [
    RtpStream,
    RtpStream,
  ]
  const sink = new FakeSink()
  const counters = { bytesOut: 0, gopDrops: 0 }
  const reader = new Reader([video, klv], sink, { ...LIMITS, ...limits }, counters, { guessed, replaceFor: () => (unit) => unit })
  video.onUnit((unit) => reader.offer(0, unit))
  klv.onUnit((unit) => reader.offer(1, unit))
  let frame = 0
  /** `K` a key frame, `d` a delta frame, `m` a KLV packet, `.` a frame's time without one. */
  const feed = (pattern: string, payloadBytes = 100) => {
    for (const kind of pattern) {
      const start = kind === 'K' ? IDR : SLICE
      const packet = rtpPacket({ sequence: frame, timestamp: frame * 3000, payload: Buffer.concat([start, Buffer.alloc(payloadBytes)]) })
      if (kind !== '.') (kind === 'm' ? klv : video).ingestPacket(packet)
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
  /** The steps from each timestamp sent to the next. */
  const steps = () => sink.sent.slice(1).map(({ timestamp }, at) => (timestamp - (sink.sent[at]?.timestamp ?? 0)) | 0)
  /** The sink takes no data while the test does this. */
  const whileBusy = (act: () => void) => {
    sink.busy = true
    act()
    sink.busy = false
    sink.onReady()
  }
  return { reader, sink, counters, feed, play, kinds, steps, whileBusy }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

describe('a reader', () => {
  it('gets the cached GOP at once with compressed timestamps in order, then live media without a gap', () => {
    const { sink, feed, play, kinds, steps } = setUp()
    feed('ddKddddddddd')
    const [start] = play()
    feed('dd')
    const [first] = sink.sent
    expect([kinds(), start]).toEqual(['Kddddddddddd', { timestamp: first?.timestamp, sequence: first?.unit.firstSequence }])
    expect(Math.min(...steps())).toBeGreaterThan(0)
    expect([sum(steps().slice(0, 9)), steps().slice(9)]).toEqual([40 * 90, [3000, 3000]])
    const sequences = sink.sent.map(({ unit }) => unit.firstSequence)
    expect(sequences).toEqual(sequences.map((_, at) => ((sequences[0] ?? 0) + at) & 0xffff))
  })

  it.each([
    ['with its own times where it has to guess the frame rate by them', 'ddd', 3 * 3000],
    ['within 40 ms there too when there is more of it', 'd'.repeat(20), 40 * 90],
  ])('gets the cached GOP %s', (_what, pictures, ticks) => {
    const { feed, play, steps } = setUp({}, true)
    feed(`K${pictures}`)
    play()
    expect(sum(steps())).toBe(ticks)
    feed('d')
    expect([steps()[0], steps().at(-1)]).toEqual([ticks / pictures.length, 3000])
  })

  it('gets a GOP of five minutes too, at times that differ', () => {
    const { feed, play, steps } = setUp({ queuedBytes: 64_000_000 })
    feed(`K${'d'.repeat(8999)}`, 10)
    play()
    expect(steps()).toHaveLength(8999)
    expect(Math.min(...steps())).toBeGreaterThan(0)
    expect(sum(steps())).toBeLessThanOrEqual(90_000 / 4)
  })

  it('gets a cached GOP that is larger than what it may be behind, and is bounded after it', () => {
    const { sink, feed, play, kinds, counters, whileBusy } = setUp({ queuedBytes: 1000 })
    feed(`K${'d'.repeat(40)}`)
    whileBusy(() => {
      play()
      feed('ddd')
    })
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
    expect([kinds(), sink.sent.at(-1)?.timestamp]).toEqual(['Kddm', starts[1]?.timestamp])
  })

  it.each([
    ['within the limits gets everything in order', {}, 'ddmdKdd', '', 'KddmdKdd', 0],
    ['beyond its queue limit loses the queue and continues at a key frame', { queuedBytes: 1000 }, 'd'.repeat(12), 'dddKdd', 'KKdd', 1],
    ['beyond its queue limit continues at a key frame that is queued already', { queuedBytes: 1000 }, 'dddddKddd', '', 'KKddd', 1],
    ['for seconds continues at the next key frame, within its queue limit too', { lagMs: 500 }, `${'d'.repeat(20)}Kd`, '', 'KKd', 1],
  ])('that falls behind %s', (_what, limits, meanwhile, later, expected, gopDrops) => {
    const { feed, play, kinds, counters, whileBusy } = setUp(limits)
    feed('K')
    play()
    whileBusy(() => feed(meanwhile))
    feed(later)
    expect([kinds(), counters.gopDrops]).toEqual([expected, gopDrops])
  })

  it('loses its queue of very many units, however small they are', () => {
    const { sink, feed, play, counters } = setUp()
    feed('K')
    play()
    sink.busy = true
    feed('d'.repeat(17_000), 0)
    expect(counters.gopDrops).toBe(1)
  })

  it('gets the whole cached GOP even when the next key frame arrives while it is sent', () => {
    const { feed, play, kinds, counters, whileBusy } = setUp({ lagMs: 500 })
    feed(`K${'d'.repeat(30)}`)
    whileBusy(() => {
      play()
      feed('Kd')
    })
    expect([kinds(), counters.gopDrops]).toEqual([`K${'d'.repeat(30)}Kd`, 0])
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
