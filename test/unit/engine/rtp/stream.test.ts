import { describe, expect, it } from 'vitest'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { Rfc4571Reader } from '../../../../engine/rtp/packet/rfc4571.ts'
import { SequenceNumbers } from '../../../../engine/rtp/sequence-numbers.ts'
import { RtpFramingError, RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { rounds } from '../../../helpers/random.ts'
import { framedPackets, H264_CAPS, IDR, KLV_CAPS, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'
import { Random } from '../../../helpers/rtsp/random-bytes.ts'

const FRAME = 3000

const setUp = (options: NonNullable<ConstructorParameters<typeof RtpStream>[0]> & { caps?: string } = {}) => {
  const clock = { ms: 1000 }
  const stream = new RtpStream({ now: () => clock.ms, ...options })
  const units: AccessUnit[] = []
  stream.onUnit((unit) => units.push(unit))
  const caps = parseRtpCaps(options.caps ?? H264_CAPS)
  const begin = () => {
    stream.begin()
    if (caps) stream.setCaps(caps)
  }
  begin()
  /** One frame per packet; the clock moves with the frames. */
  const frames = (count: number, from: { sequence: number; timestamp: number }, key = 0) => {
    for (let at = 0; at < count; at += 1) {
      stream.ingest(
        framedPackets(
          rtpPacket({ sequence: from.sequence + at, timestamp: from.timestamp + at * FRAME, payload: at === key ? IDR : SLICE }),
        ),
      )
      clock.ms += 1000 / 30
    }
  }
  return { stream, units, clock, begin, frames, caps }
}

const sequences = (units: readonly AccessUnit[]) => units.flatMap((unit) => unit.packets().map((packet) => packet.readUInt16BE(2)))
const isContinuous = (numbers: readonly number[]) =>
  numbers.every((number, at) => at === 0 || number === (((numbers[at - 1] ?? 0) + 1) & 0xffff))
const steps = (units: readonly AccessUnit[]) => units.slice(1).map((unit, at) => (unit.timestamp - (units[at]?.timestamp ?? 0)) | 0)

describe('the RFC 4571 reader', () => {
  it('finds the same packets however the bytes are split', () => {
    const packets = [
      rtpPacket({ sequence: 1, timestamp: 1 }),
      rtpPacket({ sequence: 2, timestamp: 1, payload: 'x'.repeat(3000) }),
      rtpPacket({ sequence: 3, timestamp: 2 }),
    ]
    const bytes = Buffer.concat([framedPackets(...packets), Buffer.from([0, 0]), framedPackets(...packets)])
    const read = (pieces: readonly Buffer[]) => {
      const found: Buffer[] = []
      const reader = new Rfc4571Reader()
      for (const piece of pieces) reader.push(piece, (packet) => found.push(Buffer.from(packet)))
      return found
    }
    const splits = Array.from({ length: bytes.length }, (_, at) => [bytes.subarray(0, at), bytes.subarray(at)])
    const random = Array.from({ length: rounds(20) }, (_, seed) => new Random(seed + 1).pieces(bytes, 700))
    const wrong = [...splits, ...random].filter((pieces) => !Buffer.concat(read(pieces)).equals(Buffer.concat([...packets, ...packets])))
    expect(wrong.map((pieces) => pieces.map(({ length }) => length))).toEqual([])
    expect(read([bytes])).toEqual([...packets, ...packets])
  })
})

describe('sequence numbers', () => {
  /** `child`: another one begins; `+2`: the last packet has become two more. */
  it.each([
    ['of packets that came out of order', [5, 8, 6, 7, 9], [0, 3, 1, 2, 4]],
    ['go on after a child whose last packet came late', [5, 7, 6, 'child', 900], [0, 2, 1, 3]],
    ['of a source that begins anew', [5, 6, 40_000, 40_001], [0, 1, 2, 3]],
    ['over the wrap', [65_535, 0, 1], [0, 1, 2]],
    ['of packets that follow one that was split', [5, '+2', 6], [0, 3]],
    ['go on after a child whose last packet was split', [5, '+2', 'child', 900], [0, 3]],
  ])('%s', (_what, steps, expected) => {
    const numbers = new SequenceNumbers()
    const mapped: number[] = []
    for (const step of steps) {
      if (step === 'child') numbers.begin()
      else if (step === '+2') numbers.insert(2)
      else mapped.push(numbers.map(Number(step)))
    }
    expect(mapped.map((number) => (number - (mapped[0] ?? 0)) & 0xffff)).toEqual(expected)
  })
})

describe('an RTP stream', () => {
  it('counts the gaps in what it gets, and those that its child finds', () => {
    const { stream, frames, begin } = setUp()
    frames(3, { sequence: 5, timestamp: 0 })
    frames(3, { sequence: 10, timestamp: 3 * FRAME })
    // Another child.
    begin()
    frames(3, { sequence: 900, timestamp: 0 })
    expect(stream.stats.gaps).toBe(1)
    stream.noteGap()
    expect(stream.stats.gaps).toBe(2)
  })

  it('gathers packets into access units by marker and by timestamp', () => {
    const { stream, units } = setUp()
    stream.ingest(
      framedPackets(
        rtpPacket({ sequence: 10, timestamp: 0, marker: false, payload: IDR }),
        rtpPacket({ sequence: 11, timestamp: 0 }),
        rtpPacket({ sequence: 12, timestamp: FRAME, marker: false }),
        rtpPacket({ sequence: 13, timestamp: 2 * FRAME }),
      ),
    )
    expect(units.map((unit) => [unit.packetCount, unit.key])).toEqual([
      [2, true],
      [1, false],
      [1, false],
    ])
    expect(isContinuous(sequences(units))).toBe(true)
    expect(steps(units)).toEqual([FRAME, FRAME])
  })

  it('closes a unit without a marker before the next one arrives', async () => {
    const { stream, units } = setUp({ now: () => performance.now() })
    const closed = new Promise<void>((resolve) => stream.onUnit(() => resolve()))
    stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 5, marker: false, payload: IDR })))
    expect(units).toHaveLength(0)
    await closed
    expect(units).toHaveLength(1)
  })

  it('isolates a listener that throws, also on a unit that a timer closes, and reports it once', async () => {
    const uncaught: unknown[] = []
    const onUncaught = (error: unknown) => uncaught.push(error)
    process.prependListener('uncaughtException', onUncaught)
    const reported: unknown[] = []
    const { stream, units } = setUp({ now: () => performance.now(), onListenerError: (error) => reported.push(error) })
    const later: AccessUnit[] = []
    const failure = new Error('The listener failed')
    stream.onUnit(() => {
      throw failure
    })
    const closed = new Promise<void>((resolve) => stream.onUnit((unit) => later.push(unit) === 2 && resolve()))
    stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 5, payload: IDR })))
    stream.ingest(framedPackets(rtpPacket({ sequence: 2, timestamp: 6, marker: false })))
    await closed
    process.off('uncaughtException', onUncaught)
    expect([units.length, later.length, uncaught, reported]).toEqual([2, 2, [], [failure]])
  })

  it('isolates a listener of caps that throws', () => {
    const reported: unknown[] = []
    const { stream, begin, frames, units } = setUp({ onListenerError: (error) => reported.push(error) })
    const seen: unknown[] = []
    stream.onCaps(() => {
      throw new Error('The listener failed')
    })
    stream.onCaps((caps) => seen.push(caps))
    begin()
    frames(1, { sequence: 1, timestamp: 0 })
    expect([reported.length, seen.length, units.length]).toEqual([1, 1, 1])
  })

  it('frames a unit once per channel, and rewrites SSRC, payload type and sequence number', () => {
    const { stream, units, frames } = setUp()
    frames(1, { sequence: 500, timestamp: 777 })
    const [unit] = units
    if (!unit) throw new Error('A unit was expected')
    expect(unit.framed(0)).toBe(unit.framed(0))
    const framed = unit.framed(4)
    expect([...framed.subarray(0, 4)]).toEqual([0x24, 4, 0, 14])
    expect([framed.readUInt32BE(12), framed.subarray(16)]).toEqual([stream.ssrc, IDR])
    expect(unit.packets()).toEqual([framed.subarray(4)])
    expect(unit.payload()).toEqual(IDR)
  })

  it('continues over a new child: same SSRC, no gap, timestamps advanced by the time that passed', () => {
    const { units, clock, begin, frames } = setUp()
    frames(5, { sequence: 65_533, timestamp: 0 })
    clock.ms += 700
    begin()
    frames(5, { sequence: 9, timestamp: 0 })
    expect(isContinuous(sequences(units))).toBe(true)
    const [before, after] = [units[4], units[5]]
    const passedMs = 700 + 1000 / 30
    expect(steps(units)[4]).toBe(Math.round(passedMs * 90))
    expect(before?.packets()[0]?.readUInt32BE(8)).toBe(after?.packets()[0]?.readUInt32BE(8))
  })

  it.each([
    ['states its offset', H264_CAPS],
    ['does not', H264_CAPS.replace(/, timestamp-offset.*/, '')],
  ])('never goes back in time when a new child that %s starts behind media that ran ahead of the clock', (_, caps) => {
    const { units, begin, frames, clock } = setUp({ caps })
    clock.ms += 500
    frames(1, { sequence: 0, timestamp: 0 })
    // Ten frames at once: media runs ahead of the clock.
    const before = clock.ms
    frames(10, { sequence: 1, timestamp: FRAME })
    clock.ms = before
    begin()
    frames(3, { sequence: 0, timestamp: 0 })
    expect(Math.min(...steps(units))).toBeGreaterThan(0)
  })

  it('shows a loss as a gap, and continues without one after the source restarts its sequence numbers', () => {
    const { units, frames } = setUp()
    frames(2, { sequence: 100, timestamp: 0 })
    frames(1, { sequence: 105, timestamp: 5 * FRAME })
    frames(1, { sequence: 40_000, timestamp: 6 * FRAME })
    const [, b = 0, c = 0, d = 0] = sequences(units)
    expect([(c - b) & 0xffff, (d - c) & 0xffff]).toEqual([4, 1])
  })

  it.each([5, 900_000_000 + 11 * 90_000])('continues when the source goes on with the timestamp %d', (timestamp) => {
    const { units, frames } = setUp()
    frames(3, { sequence: 0, timestamp: 900_000_000 })
    frames(3, { sequence: 3, timestamp })
    expect(steps(units)).toEqual([FRAME, FRAME, FRAME, FRAME, FRAME].map((step, at) => (at === 2 ? expect.closeTo(step, -1) : step)))
  })

  it('holds media that arrives before the caps', () => {
    const { stream, units, frames, caps } = setUp({ caps: 'other/caps' })
    frames(3, { sequence: 0, timestamp: 0 })
    expect([units.length, stream.live, caps]).toEqual([0, false, undefined])
    const late = parseRtpCaps(H264_CAPS)
    if (late) stream.setCaps(late)
    expect([units.length, stream.live]).toEqual([3, true])
  })

  it('caches the GOP since the newest key frame, within its limits, for this run only', () => {
    const { stream, frames, begin } = setUp({ gop: { units: 5 } })
    frames(4, { sequence: 0, timestamp: 0 })
    frames(3, { sequence: 4, timestamp: 4 * FRAME })
    expect(stream.gop?.units.map((unit) => unit.key)).toEqual([true, false, false])
    expect(stream.gop?.units.map((unit) => unit.packets()[0]?.length)).toEqual([14, 14, 14])
    frames(3, { sequence: 7, timestamp: 7 * FRAME }, -1)
    expect(stream.gop).toBeUndefined()
    frames(2, { sequence: 10, timestamp: 10 * FRAME })
    expect([stream.gop?.units.length, stream.live]).toEqual([2, true])
    begin()
    expect([stream.gop, stream.live]).toEqual([undefined, false])
  })

  it('treats every KLV unit as a key unit, however many packets it has', () => {
    const { stream, units } = setUp({ caps: KLV_CAPS })
    stream.ingest(
      framedPackets(
        rtpPacket({ sequence: 1, timestamp: 0, marker: false, payload: 'ab' }),
        rtpPacket({ sequence: 2, timestamp: 0, payload: 'cd' }),
      ),
    )
    stream.ingest(framedPackets(rtpPacket({ sequence: 3, timestamp: 90_000, payload: 'ef' })))
    expect(units.map((unit) => [unit.key, unit.payload().toString()])).toEqual([
      [true, 'abcd'],
      [true, 'ef'],
    ])
    expect(stream.gop?.units).toHaveLength(1)
  })

  it('gives the streams of one child a common timeline, whatever their offsets and whichever comes first', () => {
    const timeline = new Timeline(0)
    const video = setUp({ timeline })
    const klv = setUp({ timeline, caps: KLV_CAPS.replace('timestamp-offset=(uint)0', 'timestamp-offset=(uint)4294967000') })
    klv.clock.ms = 1300
    klv.stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 4_294_967_000 + 90_000 })))
    video.clock.ms = 1340
    video.stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 90_000 + 1800, payload: IDR })))
    expect((video.units[0]?.mediaMs ?? 0) - (klv.units[0]?.mediaMs ?? 0)).toBeCloseTo(20)
    // Sender reports of both streams agree on the moment.
    const lag = (stream: RtpStream, unit: AccessUnit | undefined) => (stream.timestampNow(2000) - (unit?.timestamp ?? 0)) | 0
    expect(lag(klv.stream, klv.units[0]) - lag(video.stream, video.units[0])).toBe(1800)
  })

  it('knows the time of KLV that comes for the first time, or again, when timestamps have wrapped', () => {
    const timeline = new Timeline(0)
    const video = setUp({ timeline })
    const klv = setUp({ timeline, caps: KLV_CAPS })
    video.clock.ms = 1300
    video.stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 27_000, payload: IDR })))
    for (const hours of [7, 14, 28, 61]) {
      klv.clock.ms = 1000 + hours * 3_600_000
      klv.stream.ingest(framedPackets(rtpPacket({ sequence: hours, timestamp: hours * 3600 * 90_000 })))
      expect(klv.units.at(-1)?.mediaMs, `${hours} hours`).toBeCloseTo(klv.clock.ms)
    }
    expect(video.units[0]?.timestamp).toBe(video.stream.timestampAt(1300))
  })

  it.each([
    ['has more padding than payload', 0xa0, '000f'],
    ['has padding without a length', 0xa0, '0000'],
    ['has an extension that is cut', 0x90, 'bede'],
    ['has an extension longer than the packet', 0x90, 'bede0009'],
    ['names more contributors than it has', 0x8f, '00000000'],
    ['is of another version', 0x40, '6588'],
  ])('counts a packet that %s as malformed', (_, first, payload) => {
    const { stream, units } = setUp()
    const packet = rtpPacket({ sequence: 1, timestamp: 1, payload: Buffer.from(payload, 'hex') })
    packet[0] = first
    stream.ingest(framedPackets(packet))
    expect([units.length, stream.stats.malformedPackets]).toEqual([0, 1])
  })

  it('counts malformed packets, and throws when the framing is lost', () => {
    const { stream, units } = setUp()
    stream.ingest(framedPackets(Buffer.from('nonsense'), rtpPacket({ sequence: 1, timestamp: 1, payload: IDR })))
    expect([units.length, stream.stats.malformedPackets]).toEqual([1, 1])
    expect(() => stream.ingest(Buffer.alloc(100_000, 1))).toThrow(RtpFramingError)
  })

  it('drops an access unit of more than 32 MiB whole, counts its packets as malformed, and goes on with the next', () => {
    const { stream, units, frames } = setUp()
    const chunk = (sequence: number, marker: boolean) =>
      framedPackets(rtpPacket({ sequence, timestamp: 0, marker, payload: Buffer.concat([IDR, Buffer.alloc(65_000)]) }))
    // 34 MB, 16,384 packets would be 1 GB.
    for (let sequence = 0; sequence < 530; sequence += 1) stream.ingest(chunk(sequence, sequence === 529))
    expect([units.length, stream.stats.malformedPackets, stream.live]).toEqual([0, 530, false])
    frames(2, { sequence: 530, timestamp: FRAME })
    expect([units.length, stream.stats.malformedPackets, stream.live]).toEqual([2, 530, true])
  })

  it('keeps an access unit of almost 32 MiB', () => {
    const { stream, units } = setUp()
    const payload = Buffer.concat([IDR, Buffer.alloc(65_000)])
    for (let sequence = 0; sequence < 510; sequence += 1) {
      stream.ingest(framedPackets(rtpPacket({ sequence, timestamp: 0, marker: sequence === 509, payload })))
    }
    expect(units.map((unit) => unit.packetCount)).toEqual([510])
  })

  it('goes on after a unit that was too large and had no marker', () => {
    const { stream, frames, units } = setUp()
    const payload = Buffer.alloc(65_000)
    for (let sequence = 0; sequence < 600; sequence += 1) {
      stream.ingest(framedPackets(rtpPacket({ sequence, timestamp: 0, marker: false, payload })))
    }
    frames(1, { sequence: 600, timestamp: FRAME })
    expect([units.length, stream.stats.malformedPackets]).toEqual([1, 600])
  })

  it('goes on after a unit that was too large when all units have the same timestamp', () => {
    const { stream, units } = setUp()
    const send = (sequence: number, marker: boolean, payload = SLICE): void =>
      stream.ingest(framedPackets(rtpPacket({ sequence, timestamp: 0, marker, payload })))
    for (let sequence = 0; sequence < 520; sequence += 1) send(sequence, false, Buffer.alloc(65_000))
    send(520, true)
    send(521, true)
    expect([units.length, stream.stats.malformedPackets]).toEqual([1, 521])
  })

  it('does not carry the key flag of an unfinished unit over to the next run', () => {
    const { stream, units, begin } = setUp()
    stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 0, marker: false, payload: IDR })))
    stream.end()
    begin()
    stream.ingest(framedPackets(rtpPacket({ sequence: 1, timestamp: 0, payload: SLICE })))
    expect([units.map((unit) => unit.key), stream.live]).toEqual([[false], false])
  })

  it('throws nothing but RtpFramingError for malformed bytes', () => {
    const good = framedPackets(
      ...Array.from({ length: 20 }, (_, at) => rtpPacket({ sequence: at, timestamp: at * FRAME, payload: at ? SLICE : IDR })),
    )
    const errors: unknown[] = []
    for (let seed = 1; seed <= rounds(100); seed += 1) {
      const random = new Random(seed)
      const { stream } = setUp()
      try {
        for (const piece of random.pieces(random.mutate(good), 50)) stream.ingest(piece)
      } catch (error) {
        errors.push(error)
      }
      stream.end()
    }
    expect(errors.filter((error) => !(error instanceof RtpFramingError))).toEqual([])
  })
})
