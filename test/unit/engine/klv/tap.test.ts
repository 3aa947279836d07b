import { describe, expect, it } from 'vitest'
import { KlvPayloader } from '../../../../engine/klv/payloader.ts'
import { encodePacket } from '../../../../engine/klv/st0601/encode.ts'
import { flightPacket } from '../../../../engine/klv/st0601/synthetic-flight.ts'
import { KlvTap } from '../../../../engine/klv/tap.ts'
import { OWN_KLV_CAPS } from '../../../../engine/launch/launch.ts'
import { parseRtpCaps } from '../../../../engine/rtp/caps.ts'
import { RtpStream } from '../../../../engine/rtp/stream.ts'
import type { EngineEvent } from '../../../../lib/engine/messages.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { mutate, seededRandom } from '../../../fixtures/klv/random.ts'

/** A tap on a stream that the test feeds, with a clock that the test sets. */
const createTap = (status: { playing?: boolean; extractsGeolocation?: boolean } = {}) => {
  const clock = { ms: 1_000_000 }
  const stream = new RtpStream({ now: () => clock.ms })
  const events: EngineEvent[] = []
  const positions: { readonly latitude: number; readonly mediaMs: number }[] = []
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
    onPosition: ({ latitude }, mediaMs) => positions.push({ latitude, mediaMs }),
    now: () => clock.ms,
  })
  const payloader = new KlvPayloader()
  const caps = parseRtpCaps(OWN_KLV_CAPS)
  if (caps === undefined) throw new Error('The caps of the KLV payloader are invalid')
  stream.begin()
  stream.setCaps(caps)
  const send = (unit: Uint8Array): void => stream.ingest(payloader.packetize(unit, clock.ms * 90))
  const later = (ms: number): void => {
    clock.ms += ms
  }
  return { tap, stream, state, events, positions, changes, send, later, payloader }
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
  it('keeps the last packet with a position', () => {
    const { tap, send, later } = createTap()
    expect([tap.located(), reasonOf(() => tap.latestLocated())]).toEqual([undefined, ['NOT_FOUND', undefined]])
    send(flightPacket(1000))
    tap.start()
    send(LARGE)
    expect([tap.located(), reasonOf(() => tap.latestLocated())]).toEqual([undefined, ['NOT_FOUND', 'no_position']])
    send(flightPacket(1000))
    later(100)
    send(LARGE)
    expect(tap.located()).toMatchObject({
      at: 1_000_000,
      arrivedMs: expect.any(Number),
      geolocation: { latitude: expect.closeTo(-27.6, 1) },
    })
    expect(tap.latestLocated()).toBe(tap.located())
    tap.forget()
    expect(tap.located()).toBeUndefined()
  })

  it('has no footprint before a packet, nor from one without the values for it', () => {
    const { tap, send } = createTap()
    expect(reasonOf(() => tap.latestFootprint())).toEqual(['NOT_FOUND', 'no_footprint'])
    send(flightPacket(1000))
    tap.start()
    send(LARGE)
    expect(reasonOf(() => tap.latestFootprint())).toEqual(['NOT_FOUND', 'no_footprint'])
    send(flightPacket(1000))
    expect(tap.latestFootprint()).toMatchObject({ geometry: { type: 'Polygon' }, properties: { method: 'field_of_view' } })
  })

  it('detects KLV with the first unit, and from the announcement of the source', () => {
    const { tap, send, changes } = createTap()
    expect(tap.view()).toEqual({ available: false })
    send(flightPacket(0))
    expect(tap.view()).toEqual({ available: true, state: 'stopped' })
    send(flightPacket(100))
    expect(changes.count).toBe(1)
    tap.announce(false)
    expect(tap.view()).toEqual({ available: false })
  })

  it('decodes from start to stop, and keeps the last packet with its age', () => {
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

  it('rejects start without a play and without KLV, and stops extraction with the play', () => {
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

  it('starts by itself when geolocation is configured, and emits it once a second and at the end', () => {
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

  it('tells each position with its time on the timeline of the video', () => {
    const { tap, send, stream, positions } = createTap({ extractsGeolocation: true })
    const units: number[] = []
    stream.onUnit(({ mediaMs }) => units.push(mediaMs))
    tap.begin()
    for (const at of [0, 100, 200]) send(flightPacket(at))
    send(LARGE)
    expect(positions.map(({ mediaMs }) => mediaMs)).toEqual(units.slice(0, 3))
    expect(positions.at(-1)?.latitude).toBe(tap.located()?.geolocation.latitude)
  })

  it('emits no geolocation for packets without a position, or when it is not configured', () => {
    const configured = createTap({ extractsGeolocation: true })
    configured.tap.begin()
    configured.send(LARGE)
    const other = createTap()
    other.send(LARGE)
    other.tap.start()
    other.send(flightPacket(0))
    expect([configured.tap.counts().decoded, other.tap.counts().decoded]).toEqual([1, 1])
    expect([...configured.events, ...other.events, ...configured.positions, ...other.positions]).toEqual([])
  })

  it('counts a packet with a wrong checksum and drops it', () => {
    const { tap, send } = createTap()
    send(flightPacket(0))
    tap.start()
    const packets: unknown[] = []
    tap.subscribe({ onPacket: (packet) => packets.push(packet), onEnd: () => {} })
    const wrong = flightPacket(100)
    wrong[30] = (wrong[30] ?? 0) ^ 1
    send(wrong)
    expect(packets).toEqual([])
    expect(reasonOf(() => tap.latest())).toEqual(['NOT_FOUND', undefined])
    expect(tap.counts()).toMatchObject({ decoded: 0, badChecksum: 1 })
    send(flightPacket(200))
    expect(packets).toHaveLength(1)
  })

  it('counts a loss in the source as a gap', () => {
    const { tap, send, payloader } = createTap()
    send(flightPacket(0))
    tap.start()
    send(flightPacket(100))
    payloader.skip()
    send(flightPacket(200))
    expect(tap.counts()).toMatchObject({ decoded: 2, gaps: 1 })
  })

  it('decodes nothing of a packet that a loss cut off', () => {
    const { tap, stream, payloader } = createTap()
    const whole = flightPacket(100)
    stream.ingest(payloader.packetize(flightPacket(0), 0))
    tap.start()
    stream.ingest(payloader.packetize(whole.subarray(0, 60), 9000))
    payloader.skip()
    stream.ingest(payloader.packetize(whole.subarray(60), 18_000))
    expect(tap.counts()).toMatchObject({ decoded: 0, gaps: 1 })
  })

  it('drops a unit of more than 256 KiB undecoded, and counts it as malformed', () => {
    const { tap, stream, payloader } = createTap()
    stream.ingest(payloader.packetize(flightPacket(0), 0))
    tap.start()
    const padded = (bytes: number) => Buffer.concat([flightPacket(100), Buffer.alloc(bytes)])
    stream.ingest(payloader.packetize(padded(270_000), 9000))
    expect(tap.counts()).toMatchObject({ decoded: 0, malformed: 1 })
    stream.ingest(payloader.packetize(padded(200_000), 18_000))
    expect(tap.counts()).toMatchObject({ decoded: 1, malformed: 1 })
  })

  it('calls subscribers until they unsubscribe', () => {
    const { tap, send } = createTap()
    send(flightPacket(0))
    tap.start()
    const packets: string[] = []
    const unsubscribe = tap.subscribe({ onPacket: ({ timestamp }) => packets.push(timestamp ?? ''), onEnd: () => {} })
    send(flightPacket(0))
    unsubscribe()
    send(flightPacket(100))
    expect(packets).toEqual(['1970-01-01T00:00:00.000Z'])
  })

  it('tells the subscribers that are left when its pipeline is removed', () => {
    const { tap } = createTap()
    const ended: string[] = []
    const subscriberOf = (name: string) => ({ onPacket: () => {}, onEnd: () => void ended.push(name) })
    tap.subscribe(subscriberOf('left before'))()
    tap.subscribe(subscriberOf('there'))
    tap.close()
    expect(ended).toEqual(['there'])
  })

  it('accepts any bytes without throwing, and decodes the valid packets between the invalid ones', () => {
    const { tap, send, stream } = createTap({ extractsGeolocation: true })
    tap.begin()
    const random = seededRandom(4711)
    let received = 0
    tap.subscribe({
      onPacket: () => {
        received += 1
      },
      onEnd: () => {},
    })
    for (let round = 0; round < 20_000; round++) send(mutate(random(10) === 0 ? LARGE : flightPacket(round * 100), random))
    send(new Uint8Array(2_000_000))
    send(new Uint8Array(0))
    const before = tap.counts()
    expect(before.badChecksum + before.malformed).toBeGreaterThan(10_000)
    expect(received).toBe(before.decoded)
    expect(stream.stats.malformedPackets).toBe(0)
    for (let round = 0; round < 10; round++) send(flightPacket(round * 100))
    expect(tap.counts().decoded).toBeGreaterThanOrEqual(before.decoded + 9)
  })
})
