import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { AccessUnit } from '../../../../engine/rtp/access-unit.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpFramingError } from '../../../../engine/rtp/packet/rtp-framing-error.ts'
import { SequenceNumbers } from '../../../../engine/rtp/sequence-numbers.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import { Timeline } from '../../../../engine/rtp/timeline.ts'
import { H264_CAPS, IDR, KLV_CAPS, rtpPacket, SLICE } from '../../../helpers/rtsp/packets.ts'

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
  const send = (...packets: readonly Parameters<typeof rtpPacket>[0][]): void => {
    for (const packet of packets) stream.ingestPacket(rtpPacket(packet))
  }
  /** One frame per packet, the first a key frame; the clock moves with the frames. */
  const frames = (count: number, from: { sequence: number; timestamp: number }) => {
    for (let at = 0; at < count; at += 1) {
      send({ sequence: from.sequence + at, timestamp: from.timestamp + at * FRAME, payload: at === 0 ? IDR : SLICE })
      clock.ms += 1000 / 30
    }
  }
  return { stream, units, clock, begin, send, frames, caps }
}

const sequences = (units: readonly AccessUnit[]) => units.flatMap((unit) => unit.packets().map((packet) => packet.readUInt16BE(2)))
const isContinuous = (numbers: readonly number[]) =>
  numbers.every((number, at) => at === 0 || number === (((numbers[at - 1] ?? 0) + 1) & 0xffff))
const steps = (units: readonly AccessUnit[]) => units.slice(1).map((unit, at) => (unit.timestamp - (units[at]?.timestamp ?? 0)) | 0)

describe('sequence numbers', () => {
  /** `child`: another one begins; `+2`: the last packet has become two more. */
  it.each([
    ['of packets that came out of order', [5, 8, 6, 7, 9], [0, 3, 1, 2, 4]],
    ['go on after a child whose last packet came late', [5, 7, 6, 'child', 900], [0, 2, 1, 3]],
    ['of a source that begins anew', [5, 6, 40_000, 40_001], [0, 1, 2, 3]],
    ['over the wrap', [65_535, 0, 1], [0, 1, 2]],
    ['after a loss', [100, 101, 105], [0, 1, 5]],
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
    const { units, send } = setUp()
    send(
      { sequence: 10, timestamp: 0, marker: false, payload: IDR },
      { sequence: 11, timestamp: 0 },
      { sequence: 12, timestamp: FRAME, marker: false },
      { sequence: 13, timestamp: 2 * FRAME },
    )
    expect(units).toMatchObject([
      { packetCount: 2, key: true },
      { packetCount: 1, key: false },
      { packetCount: 1, key: false },
    ])
    expect([isContinuous(sequences(units)), steps(units)]).toEqual([true, [FRAME, FRAME]])
  })

  it('isolates listeners that throw, also on a unit that a timer closes, and reports each once', async () => {
    const onUncaught = vi.fn()
    process.prependListener('uncaughtException', onUncaught)
    onTestFinished(() => void process.off('uncaughtException', onUncaught))
    const reported: unknown[] = []
    const { stream, units, begin, send } = setUp({ now: () => performance.now(), onListenerError: (error) => reported.push(error) })
    const failing = (name: string) => () => {
      throw name
    }
    stream.onCaps(failing('caps'))
    stream.onUnit(failing('unit'))
    const closed = new Promise<void>((resolve) => stream.onUnit(() => units.length === 2 && resolve()))
    begin()
    send({ sequence: 1, timestamp: 5, payload: IDR }, { sequence: 2, timestamp: 6, marker: false })
    await closed
    expect([reported, onUncaught.mock.calls]).toEqual([['caps', 'unit'], []])
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
    expect(steps(units)[4]).toBe(Math.round((700 + 1000 / 30) * 90))
    expect(new Set(units.map((unit) => unit.packets()[0]?.readUInt32BE(8))).size).toBe(1)
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

  it.each([5, 900_000_000 + 11 * 90_000])('continues when the source goes on with the timestamp %d', (timestamp) => {
    const { units, frames } = setUp()
    frames(3, { sequence: 0, timestamp: 900_000_000 })
    frames(3, { sequence: 3, timestamp })
    expect(steps(units)).toEqual([FRAME, FRAME, FRAME, FRAME, FRAME].map((step, at) => (at === 2 ? expect.closeTo(step, -1) : step)))
  })

  it.each([
    ['pictures without a time, which its payloader gives that of the one before', undefined, 1],
    ['fields, of which a frame has two with one time', 'Z01AFfQKCH5cBEAAAAMAQAAADIfFCqg=', 2],
  ])('gives rising times to %s', (_what, sps, perFrame) => {
    const { send, clock, units } = setUp({ caps: sps === undefined ? H264_CAPS : `${H264_CAPS}, sprop-parameter-sets=(string)"${sps}"` })
    for (let at = 0; at < 40; at += 1) {
      if (at % perFrame === 0) clock.ms += 40
      // The clock of the source stands for 18 of them.
      const frame = Math.floor(at / perFrame)
      send({ sequence: at, timestamp: (perFrame === 1 && frame > 1 && frame < 20 ? 1 : frame) * 3600, payload: at === 0 ? IDR : SLICE })
    }
    const times = units.map(({ mediaMs }) => Math.round(mediaMs - (units[0]?.mediaMs ?? 0)))
    expect(times).toEqual(times.map((_, at) => Math.floor(at / perFrame) * 40))
  })

  it('caches the GOP since the newest key frame, for this run only', () => {
    const { stream, frames, begin } = setUp()
    frames(4, { sequence: 0, timestamp: 0 })
    frames(3, { sequence: 4, timestamp: 4 * FRAME })
    expect(stream.gop?.units.map((unit) => [unit.key, unit.packets()[0]?.length])).toEqual([
      [true, 14],
      [false, 14],
      [false, 14],
    ])
    begin()
    expect([stream.gop, stream.live]).toEqual([undefined, false])
  })

  it('treats every KLV unit as a key unit, however many packets it has', () => {
    const { stream, units, send } = setUp({ caps: KLV_CAPS })
    send(
      { sequence: 1, timestamp: 0, marker: false, payload: 'ab' },
      { sequence: 2, timestamp: 0, payload: 'cd' },
      { sequence: 3, timestamp: 90_000, payload: 'ef' },
    )
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
    klv.send({ sequence: 1, timestamp: 4_294_967_000 + 90_000 })
    video.clock.ms = 1340
    video.send({ sequence: 1, timestamp: 90_000 + 1800, payload: IDR })
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
    video.send({ sequence: 1, timestamp: 27_000, payload: IDR })
    for (const hours of [7, 14, 28, 61]) {
      klv.clock.ms = 1000 + hours * 3_600_000
      klv.send({ sequence: hours, timestamp: hours * 3600 * 90_000 })
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
    stream.ingestPacket(packet)
    expect([units.length, stream.stats.malformedPackets]).toEqual([0, 1])
  })

  it('counts malformed packets, and throws when nothing else comes', () => {
    const { stream, units } = setUp()
    for (const packet of [Buffer.from('nonsense'), rtpPacket({ sequence: 1, timestamp: 1, payload: IDR })]) stream.ingestPacket(packet)
    expect([units.length, stream.stats.malformedPackets]).toEqual([1, 1])
    const more = () => stream.ingestPacket(Buffer.alloc(100, 1))
    for (let packets = 0; packets < 50; packets += 1) more()
    expect(more).toThrow(RtpFramingError)
  })

  it.each([
    ['almost 32 MiB is kept', 510, true, FRAME, [510, 1, 1], 0],
    ['more is dropped whole', 530, true, FRAME, [1, 1], 530],
    ['more is dropped up to the next timestamp when nothing marks its end', 600, false, FRAME, [1, 1], 600],
    ['more is dropped up to its marker when all units have the same timestamp', 520, false, 0, [1], 521],
  ])('an access unit of %s', (_what, count, marker, next, packets, malformedPackets) => {
    const { stream, units, send } = setUp()
    const payload = Buffer.concat([IDR, Buffer.alloc(65_000)])
    for (let sequence = 1; sequence <= count; sequence += 1) send({ sequence, timestamp: 0, marker: marker && sequence === count, payload })
    for (const at of [1, 2]) send({ sequence: count + at, timestamp: at * next })
    expect([units.map(({ packetCount }) => packetCount), stream.stats.malformedPackets]).toEqual([packets, malformedPackets])
  })

  it('does not carry the key flag of an unfinished unit over to the next run', () => {
    const { stream, units, begin, send } = setUp()
    send({ sequence: 1, timestamp: 0, marker: false, payload: IDR })
    begin()
    send({ sequence: 1, timestamp: 0 })
    expect([units.map((unit) => unit.key), stream.live]).toEqual([[false], false])
  })
})
