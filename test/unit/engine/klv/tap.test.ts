import { describe, expect, it, type Mock, vi } from 'vitest'
import { KlvPayloader } from '../../../../engine/klv/payloader.ts'
import { KlvTap } from '../../../../engine/klv/tap.ts'
import { OWN_KLV_CAPS } from '../../../../engine/launch/launch.ts'
import type { EngineChange } from '../../../../lib/engine/messages.ts'
import { ApiError } from '../../../../lib/errors.ts'
import { encodePacket } from '../../../../lib/st0601/encode.ts'
import { flightPacket } from '../../../../lib/st0601/synthetic-flight.ts'
import { mutate, seededRandom } from '../../../fixtures/klv/random.ts'
import { beginStream } from '../../../helpers/rtsp/packets.ts'

/** A tap on a stream that the test feeds, with a clock that the test sets. */
const createTap = (status: { playing?: boolean; extractsGeolocation?: boolean } = {}) => {
  const clock = { ms: 1_000_000 }
  const { stream } = beginStream({ now: () => clock.ms }, OWN_KLV_CAPS)
  const events: EngineChange[] = []
  const positions: { readonly latitude: number; readonly mediaMs: number }[] = []
  const state = { playing: true, extractsGeolocation: false, ...status }
  const onChange = vi.fn()
  const tap = new KlvTap({
    id: 'uav-1',
    stream,
    status: () => state,
    onChange,
    emit: (event) => events.push(event),
    onPosition: ({ latitude }, mediaMs) => positions.push({ latitude, mediaMs }),
    now: () => clock.ms,
  })
  const payloader = new KlvPayloader()
  const send = (...units: readonly Uint8Array[]): void => {
    for (const unit of units) for (const packet of payloader.packetize(unit, clock.ms * 90)) stream.ingestPacket(packet)
  }
  const later = (ms: number): void => {
    clock.ms += ms
  }
  return { tap, stream, state, events, positions, onChange, send, later, payloader }
}

type Subscriber = { readonly onPacket: Mock; readonly onEnd: Mock }

/** A tap that decodes. */
const startTap = () => {
  const created = createTap()
  created.tap.announce(true)
  created.tap.start()
  return created
}

const reasonOf = (act: () => void): unknown => {
  try {
    act()
  } catch (error) {
    return error instanceof ApiError ? [error.code, error.details.reason] : error
  }
  return undefined
}

/** Larger than one RTP packet; without a position. */
const LARGE = encodePacket([
  [2, 1_700_000_000_000_000],
  [3, 'M'.repeat(120)],
  [74, new Uint8Array(5000).fill(1)],
])

describe('a KLV tap', () => {
  it('has nothing to show before the first packet that it decodes, nor of one without the values for it', () => {
    const { tap, send } = createTap()
    const reasons = () => [tap.latest, tap.latestLocated, tap.latestFootprint].map((read) => reasonOf(read.bind(tap)))
    send(flightPacket(1000))
    expect([tap.located(), ...reasons()]).toEqual([
      undefined,
      ['NOT_FOUND', undefined],
      ['NOT_FOUND', undefined],
      ['NOT_FOUND', 'no_footprint'],
    ])
    tap.start()
    send(LARGE)
    expect([tap.located(), ...reasons()]).toEqual([undefined, undefined, ['NOT_FOUND', 'no_position'], ['NOT_FOUND', 'no_footprint']])
    send(flightPacket(1000))
    expect(tap.latestFootprint()).toMatchObject({ geometry: { type: 'Polygon' }, properties: { method: 'field_of_view' } })
  })

  it('keeps the last packet with a position', () => {
    const { tap, send, later } = startTap()
    send(flightPacket(1000))
    later(100)
    send(LARGE)
    const geolocation = { latitude: expect.closeTo(-27.6, 1) }
    expect(tap.located()).toMatchObject({ at: 1_000_000, arrivedMs: expect.any(Number), geolocation })
    expect(tap.latestLocated()).toBe(tap.located())
    tap.forget()
    expect(tap.located()).toBeUndefined()
  })

  it('detects KLV with the first unit, and from the announcement of the source', () => {
    const { tap, send, onChange } = createTap()
    expect(tap.view()).toEqual({ available: false })
    send(flightPacket(0), flightPacket(100))
    expect(tap.view()).toEqual({ available: true, state: 'stopped' })
    expect(onChange).toHaveBeenCalledTimes(1)
    tap.announce(false)
    expect(tap.view()).toEqual({ available: false })
  })

  it('decodes from start to stop, and keeps the last packet with its age', () => {
    const { tap, send, later } = createTap()
    send(flightPacket(0))
    tap.start()
    expect(tap.view()).toEqual({ available: true, state: 'playing' })
    send(flightPacket(1_700_000_000_000), LARGE)
    tap.stop()
    send(flightPacket(1_700_000_000_200))
    later(5001)
    const values = { mission_id: 'M'.repeat(120) }
    expect(tap.latest()).toMatchObject({ timestamp: '2023-11-14T22:13:20.000Z', age_ms: 5001, stale: true, values })
    expect(tap.latestFeature()).toMatchObject({ type: 'Feature', geometry: null })
    expect(tap.counts()).toEqual({ pipelineId: 'uav-1', decoded: 2, badChecksum: 0, malformed: 0, gaps: 0 })
  })

  it('rejects start without a play and without KLV, and stops extraction with the play', () => {
    const { tap, state } = createTap({ playing: false })
    expect(reasonOf(() => tap.start())).toEqual(['CONFLICT', 'not_playing'])
    state.playing = true
    expect(reasonOf(() => tap.start())).toEqual(['CONFLICT', 'no_klv'])
    tap.announce(true)
    tap.start()
    for (const next of ['end', 'begin'] as const) {
      tap[next]()
      expect(tap.view(), next).toEqual({ available: true, state: 'stopped' })
    }
  })

  it('starts by itself when geolocation is configured, and emits it once a second and at the end', () => {
    const { tap, send, later, events } = createTap({ extractsGeolocation: true })
    tap.begin()
    for (let at = 0; at < 3500; at += 100) {
      send(flightPacket(at))
      later(100)
    }
    expect(tap.view()).toEqual({ available: true, state: 'playing' })
    expect(events.map((event) => event.type)).toEqual(Array(4).fill('geolocation'))
    tap.stop()
    tap.stop()
    expect(events).toHaveLength(5)
    expect(events.at(-1)).toMatchObject({ id: 'uav-1', geolocation: { latitude: tap.latest().values.sensor_latitude } })
  })

  it('tells each position with its time on the timeline of the video', () => {
    const { tap, send, stream, positions } = createTap({ extractsGeolocation: true })
    const units: number[] = []
    stream.onUnit(({ mediaMs }) => units.push(mediaMs))
    tap.begin()
    send(flightPacket(0), flightPacket(100), flightPacket(200), LARGE)
    expect(positions.map(({ mediaMs }) => mediaMs)).toEqual(units.slice(0, 3))
    expect(positions.at(-1)?.latitude).toBe(tap.located()?.geolocation.latitude)
  })

  it.each([
    ['for packets without a position', true, LARGE],
    ['when it is not configured', false, flightPacket(0)],
  ])('emits no geolocation %s', (_when, extractsGeolocation, packet) => {
    const { tap, send, events, positions } = createTap({ extractsGeolocation })
    tap.begin()
    tap.announce(true)
    tap.start()
    send(packet)
    expect([tap.counts().decoded, events, positions]).toEqual([1, [], []])
  })

  it('counts a packet with a wrong checksum and drops it', () => {
    const { tap, send } = startTap()
    const onPacket = vi.fn()
    tap.subscribe({ onPacket, onEnd: () => {} })
    const wrong = flightPacket(100)
    send(wrong.with(30, (wrong[30] ?? 0) ^ 1))
    expect(tap.counts()).toMatchObject({ decoded: 0, badChecksum: 1 })
    expect([reasonOf(() => tap.latest()), onPacket.mock.calls]).toEqual([['NOT_FOUND', undefined], []])
    send(flightPacket(200))
    expect(onPacket).toHaveBeenCalledTimes(1)
  })

  it('counts a loss in the source as a gap', () => {
    const { tap, send, payloader } = startTap()
    send(flightPacket(100))
    payloader.skip()
    send(flightPacket(200))
    expect(tap.counts()).toMatchObject({ decoded: 2, gaps: 1 })
  })

  it('decodes nothing of a packet that a loss cut off', () => {
    const { tap, send, later, payloader } = startTap()
    const whole = flightPacket(100)
    send(whole.subarray(0, 60))
    payloader.skip()
    later(100)
    send(whole.subarray(60))
    expect(tap.counts()).toMatchObject({ decoded: 0, gaps: 1 })
  })

  it('drops a unit of more than 256 KiB undecoded, and counts it as malformed', () => {
    const { tap, send } = startTap()
    const padded = (bytes: number) => Buffer.concat([flightPacket(100), Buffer.alloc(bytes)])
    send(padded(270_000))
    expect(tap.counts()).toMatchObject({ decoded: 0, malformed: 1 })
    send(padded(200_000))
    expect(tap.counts()).toMatchObject({ decoded: 1, malformed: 1 })
  })

  it('calls subscribers until they unsubscribe, and tells those that are left when its pipeline is removed', () => {
    const { tap, send } = startTap()
    const [left, there] = [0, 1].map(() => ({ onPacket: vi.fn(), onEnd: vi.fn() })) as [Subscriber, Subscriber]
    const unsubscribe = tap.subscribe(left)
    tap.subscribe(there)
    send(flightPacket(0))
    unsubscribe()
    send(flightPacket(100))
    tap.close()
    expect(left.onPacket.mock.calls).toMatchObject([[{ timestamp: '1970-01-01T00:00:00.000Z' }]])
    expect([left.onEnd.mock.calls.length, there.onPacket.mock.calls.length, there.onEnd.mock.calls.length]).toEqual([0, 2, 1])
  })

  it('accepts any bytes without throwing, and decodes the valid packets between the invalid ones', () => {
    const { tap, send, stream } = createTap({ extractsGeolocation: true })
    tap.begin()
    const random = seededRandom(4711)
    const onPacket = vi.fn()
    tap.subscribe({ onPacket, onEnd: () => {} })
    for (let round = 0; round < 20_000; round++) send(mutate(random(10) === 0 ? LARGE : flightPacket(round * 100), random))
    send(new Uint8Array(2_000_000), new Uint8Array(0))
    const before = tap.counts()
    expect(before.badChecksum + before.malformed).toBeGreaterThan(10_000)
    expect([onPacket.mock.calls.length, stream.stats.malformedPackets]).toEqual([before.decoded, 0])
    for (let round = 0; round < 10; round++) send(flightPacket(round * 100))
    expect(tap.counts().decoded).toBeGreaterThanOrEqual(before.decoded + 9)
  })
})
