import { describe, expect, it } from 'vitest'
import { KlvPacketizer } from '../../../engine/klv/payloader.ts'
import { encodePacket } from '../../../engine/klv/st0601/encode.ts'
import { flightPacket } from '../../../engine/klv/st0601/synthetic-flight.ts'
import { KlvTap } from '../../../engine/klv/tap.ts'
import { OWN_KLV_CAPS } from '../../../engine/launch/launch.ts'
import { parseRtpCaps } from '../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../engine/rtp/stream.ts'
import type { EngineEvent } from '../../../lib/engine/messages.ts'
import { ApiError } from '../../../lib/errors.ts'
import { mutate, seededRandom } from '../../fixtures/klv/random.ts'

/** A tap on a stream that the test writes, with a clock that the test turns. */
const createTap = (status: { playing?: boolean; extractsGeolocation?: boolean } = {}) => {
  const clock = { ms: 1_000_000 }
  const stream = new RtpStream({ now: () => clock.ms })
  const events: EngineEvent[] = []
  const state = { playing: true, extractsGeolocation: false, ...status }
  const changes = { count: 0 }
  const tap = new KlvTap({
    id: 'uav-1',
    stream,
    status: () => state,
    onChange: () => {
      changes.count += 1
    },
    emit: (event) => events.push(event),
    now: () => clock.ms,
  })
  const packetizer = new KlvPacketizer()
  const caps = parseRtpCaps(OWN_KLV_CAPS)
  if (caps === undefined) throw new Error('The caps of our own KLV cannot be read')
  stream.begin()
  stream.setCaps(caps)
  const send = (unit: Uint8Array): void => stream.ingest(packetizer.frame(unit, clock.ms * 90))
  const later = (ms: number): void => {
    clock.ms += ms
  }
  return { tap, stream, state, events, changes, send, later, packetizer }
}

const reasonOf = (act: () => void): unknown => {
  try {
    act()
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.details.reason] : error
  }
  return undefined
}

/** Larger than one RTP packet. */
const LARGE = encodePacket([
  [2, 1_700_000_000_000_000],
  [3, 'M'.repeat(120)],
  [74, new Uint8Array(5000).fill(1)],
])

describe('a KLV tap', () => {
  it('knows that there is KLV when the first unit comes, and when the source says so', () => {
    const { tap, send, changes } = createTap()
    expect(tap.view()).toEqual({ available: false })
    send(flightPacket(0))
    expect(tap.view()).toEqual({ available: true, state: 'stopped' })
    send(flightPacket(100))
    expect(changes.count).toBe(1)
    tap.announce(false)
    expect(tap.view()).toEqual({ available: false })
  })

  it('decodes from start to stop and keeps the last packet, which ages', () => {
    const { tap, send, later } = createTap()
    send(flightPacket(0))
    expect(reasonOf(() => tap.latest())).toEqual(['NOT_FOUND', undefined])
    tap.start()
    expect(tap.view()).toEqual({ available: true, state: 'playing' })
    send(flightPacket(1_700_000_000_000))
    send(LARGE)
    tap.stop()
    send(flightPacket(1_700_000_000_200))
    later(5001)
    expect(tap.latest()).toMatchObject({
      timestamp: '2023-11-14T22:13:20.000Z',
      age_ms: 5001,
      stale: true,
      values: { mission_id: 'M'.repeat(120) },
    })
    expect(tap.latestFeature()).toMatchObject({ type: 'Feature', geometry: null })
    expect(tap.counts()).toEqual({ pipelineId: 'uav-1', decoded: 2, badChecksum: 0, malformed: 0, gaps: 0 })
  })

  it('refuses to start when nothing plays and when there is no KLV, and is no longer wanted after the play', () => {
    const { tap, send, state } = createTap({ playing: false })
    expect(reasonOf(() => tap.start())).toEqual(['CONFLICT', 'not_playing'])
    state.playing = true
    expect(reasonOf(() => tap.start())).toEqual(['CONFLICT', 'no_klv'])
    send(flightPacket(0))
    tap.start()
    tap.end()
    expect(tap.view()).toEqual({ available: true, state: 'stopped' })
    tap.begin()
    expect(tap.view()).toEqual({ available: true, state: 'stopped' })
  })

  it('turns on by itself where the place is wanted, and tells it once a second and in the end', () => {
    const { tap, send, later, events } = createTap({ extractsGeolocation: true })
    tap.begin()
    for (let at = 0; at < 3500; at += 100) {
      send(flightPacket(at))
      later(100)
    }
    expect(tap.view()).toEqual({ available: true, state: 'playing' })
    expect(events.map((event) => event.type)).toEqual(['geolocation', 'geolocation', 'geolocation', 'geolocation'])
    tap.stop()
    expect(events).toHaveLength(5)
    expect(events.at(-1)).toMatchObject({ id: 'uav-1', geolocation: { latitude: tap.latest().values.sensor_latitude } })
    tap.stop()
    expect(events).toHaveLength(5)
  })

  it('tells no place of a packet that has none, and none at all where it is not wanted', () => {
    const wanted = createTap({ extractsGeolocation: true })
    wanted.tap.begin()
    wanted.send(LARGE)
    const unwanted = createTap()
    unwanted.send(LARGE)
    unwanted.tap.start()
    unwanted.send(flightPacket(0))
    expect([wanted.tap.counts().decoded, unwanted.tap.counts().decoded]).toEqual([1, 1])
    expect([...wanted.events, ...unwanted.events]).toEqual([])
  })

  it('counts a packet with a wrong checksum and makes nothing of it', () => {
    const { tap, send } = createTap()
    send(flightPacket(0))
    tap.start()
    const packets: unknown[] = []
    tap.follow((packet) => packets.push(packet))
    const wrong = flightPacket(100)
    wrong[30] = (wrong[30] ?? 0) ^ 1
    send(wrong)
    expect(packets).toEqual([])
    expect(reasonOf(() => tap.latest())).toEqual(['NOT_FOUND', undefined])
    expect(tap.counts()).toMatchObject({ decoded: 0, badChecksum: 1 })
    send(flightPacket(200))
    expect(packets).toHaveLength(1)
  })

  it('counts what was lost before it', () => {
    const { tap, send, packetizer } = createTap()
    send(flightPacket(0))
    tap.start()
    send(flightPacket(100))
    packetizer.skip()
    send(flightPacket(200))
    expect(tap.counts()).toMatchObject({ decoded: 2, gaps: 1 })
  })

  it('tells its followers, until they leave, and makes nothing for nobody', () => {
    const { tap, send } = createTap()
    send(flightPacket(0))
    tap.start()
    const packets: string[] = []
    const leave = tap.follow(({ timestamp }) => packets.push(timestamp ?? ''))
    send(flightPacket(0))
    leave()
    send(flightPacket(100))
    expect(packets).toEqual(['1970-01-01T00:00:00.000Z'])
  })

  it('takes any bytes: nothing is thrown, good packets between the bad ones are decoded, memory is bounded', () => {
    const { tap, send, stream } = createTap({ extractsGeolocation: true })
    tap.begin()
    const random = seededRandom(4711)
    let followed = 0
    tap.follow(() => {
      followed += 1
    })
    for (let round = 0; round < 20_000; round++) send(mutate(random(10) === 0 ? LARGE : flightPacket(round * 100), random))
    send(new Uint8Array(2_000_000))
    send(new Uint8Array(0))
    const before = tap.counts()
    expect(before.badChecksum + before.malformed).toBeGreaterThan(10_000)
    expect(followed).toBe(before.decoded)
    expect(stream.stats.malformedPackets).toBe(0)
    for (let round = 0; round < 10; round++) send(flightPacket(round * 100))
    expect(tap.counts().decoded).toBeGreaterThanOrEqual(before.decoded + 9)
  })
})
