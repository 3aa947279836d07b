import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { encodePacket, type KlvInput } from '../../../../../engine/klv/st0601/encode.ts'
import { geolocationOf } from '../../../../../engine/klv/st0601/geolocation.ts'
import { klvFeature, klvPacketJson } from '../../../../../engine/klv/st0601/json.ts'
import { decodePacket, type KlvPacket, numberOfTag } from '../../../../../engine/klv/st0601/packet.ts'
import { flightPacket, flightState } from '../../../../../engine/klv/st0601/synthetic-flight.ts'
import { geolocationSchema } from '../../../../../lib/schema/pipeline.ts'
import { fromHex } from '../../../../fixtures/klv/hex.ts'
import { DYNAMIC_CONSTANT } from '../../../../fixtures/klv/st0902-packets.ts'

const decoded = (bytes: Uint8Array): KlvPacket => {
  const packet = decodePacket(bytes)
  return typeof packet === 'string' ? expect.fail(packet) : packet
}
const packetOf = (...entries: readonly (readonly [number, KlvInput])[]): KlvPacket => decoded(encodePacket(entries))
const receivedAt = Date.UTC(2026, 10, 20, 10)
const arrival = (age: number) => ({ pipelineId: 'uav-1', receivedAt, now: receivedAt + age })

describe('a packet as JSON', () => {
  it('has the time, the values by name and the items with unit and bytes', () => {
    const json = klvPacketJson(decoded(DYNAMIC_CONSTANT), arrival(87))
    expect(json).toMatchObject({
      pipeline_id: 'uav-1',
      received_at: '2026-11-20T10:00:00.000Z',
      age_ms: 87,
      stale: false,
      timestamp: '2009-01-12T22:08:22.000Z',
      checksum_ok: true,
    })
    expect(json.values.sensor_latitude).toBeCloseTo(60.1768, 4)
    expect(json.values.mission_id).toBe('Mission 12')
    expect(json.items.find(({ tag }) => tag === 13)).toMatchObject({ name: 'Sensor Latitude', unit: 'deg', raw: '5595b66d' })
  })

  it('keeps unknown tags without a name and nested sets without a value', () => {
    const json = klvPacketJson(packetOf([200, fromHex('01FF')], [48, fromHex('010203')]), arrival(0))
    expect(json.items.slice(0, 2)).toEqual([
      { tag: 200, name: null, value: null, unit: null, raw: '01ff' },
      { tag: 48, name: 'Security Local Set', value: null, unit: null, raw: '010203' },
    ])
    expect(json.values).toEqual({})
    expect(json.timestamp).toBeNull()
  })

  it('shows an invalid value as null', () => {
    expect(klvPacketJson(packetOf([13, null], [5, null]), arrival(0)).values).toEqual({
      sensor_latitude: null,
      platform_heading_angle: null,
    })
  })

  it('is stale when it is older than five seconds', () => {
    expect(klvPacketJson(decoded(DYNAMIC_CONSTANT), arrival(5000)).stale).toBe(false)
    expect(klvPacketJson(decoded(DYNAMIC_CONSTANT), arrival(5001)).stale).toBe(true)
  })

  it('has no negative age after the clock was set back', () => {
    expect(klvPacketJson(decoded(DYNAMIC_CONSTANT), arrival(-10)).age_ms).toBe(0)
  })

  it('shows the greatest valid time stamp', () => {
    expect(klvPacketJson(packetOf([2, Number.MAX_SAFE_INTEGER]), arrival(0)).timestamp).toBe('2255-06-05T23:47:34.740Z')
  })
})

describe('a packet as GeoJSON', () => {
  it('is a Feature with the position and everything else in its properties', () => {
    const feature = klvFeature(decoded(DYNAMIC_CONSTANT), arrival(1))
    expect(feature.type).toBe('Feature')
    expect(feature.geometry?.type).toBe('Point')
    const [longitude, latitude, altitude] = feature.geometry?.coordinates ?? []
    expect(longitude).toBeCloseTo(128.42676, 5)
    expect(latitude).toBeCloseTo(60.17682, 5)
    expect(altitude).toBeCloseTo(14190.72, 2)
    expect(feature.properties).toMatchObject({ pipeline_id: 'uav-1', mission_id: 'Mission 12', stale: false, checksum_ok: true })
  })

  it('has two coordinates when the altitude is unknown and no geometry without a position', () => {
    expect(klvFeature(packetOf([13, 0], [14, 0]), arrival(0)).geometry?.coordinates).toEqual([0, 0])
    expect(klvFeature(packetOf([65, 19]), arrival(0)).geometry).toBeNull()
  })
})

describe('the geolocation of a packet', () => {
  const position = [
    [13, 10],
    [14, 20],
  ] as const

  it.each([
    [
      '104 before 75 and 15',
      [
        [15, 100],
        [75, 200],
        [104, 300],
      ],
      300,
    ],
    [
      '75 before 15',
      [
        [15, 100],
        [75, 200],
      ],
      200,
    ],
    ['15 when it is the only one', [[15, 100]], 100],
    [
      '75 when 104 is invalid',
      [
        [104, null],
        [75, 200],
      ],
      200,
    ],
    ['none when all are absent', [], null],
  ] as const)('takes the altitude of tag %s', (_, altitudes, expected) => {
    const altitude = geolocationOf(packetOf(...position, ...altitudes))?.altitude ?? null
    if (expected === null) expect(altitude).toBeNull()
    else expect(Math.abs((altitude ?? 0) - expected)).toBeLessThan(0.2)
  })

  it('has the heading of tag 5, or null', () => {
    expect(geolocationOf(packetOf(...position, [5, 90]))?.heading).toBeCloseTo(90, 2)
    expect(geolocationOf(packetOf(...position))?.heading).toBeNull()
  })

  it.each<{ entries: readonly (readonly [number, KlvInput])[] }>([
    { entries: [[13, 10]] },
    { entries: [[14, 10]] },
    {
      entries: [
        [13, null],
        [14, 20],
      ],
    },
    {
      entries: [
        [13, 10],
        [14, null],
      ],
    },
  ])('is null when the position is incomplete: $entries', ({ entries }) => {
    expect(geolocationOf(packetOf(...entries))).toBeNull()
  })

  it('is a valid geolocation of the API', () => {
    for (const [lat, lon, alt] of [
      [-90, -180, -900],
      [90, 180, 40000],
    ] as const)
      expect(v.is(geolocationSchema, geolocationOf(packetOf([13, lat], [14, lon], [104, alt], [5, 360])))).toBe(true)
  })
})

describe('the synthetic flight', () => {
  const start = Date.UTC(2026, 0, 1)

  it('matches its packet at every second of a lap', () => {
    for (let ms = start; ms < start + 180_000; ms += 1000) {
      const state = flightState(ms)
      const packet = decoded(flightPacket(ms))
      const position = geolocationOf(packet)
      expect(packet.timestampUs).toBe(ms * 1000)
      expect(Math.abs((position?.latitude ?? 0) - state.latitude)).toBeLessThan(1e-7)
      expect(Math.abs((position?.longitude ?? 0) - state.longitude)).toBeLessThan(1e-7)
      expect(Math.abs((position?.altitude ?? 0) - state.altitude)).toBeLessThan(0.01)
      expect(Math.abs((position?.heading ?? 0) - state.heading)).toBeLessThan(0.01)
    }
  })

  it('is deterministic, and moves', () => {
    expect(flightPacket(start)).toEqual(flightPacket(start))
    expect(flightPacket(start + 100)).not.toEqual(flightPacket(start))
  })

  it('moves in the direction of its heading', () => {
    const [a, b] = [flightState(start), flightState(start + 100)]
    const east = (b.longitude - a.longitude) * Math.cos((a.latitude * Math.PI) / 180)
    const course = ((Math.atan2(east, b.latitude - a.latitude) * 180) / Math.PI + 360) % 360
    expect(Math.abs(course - a.heading)).toBeLessThan(1)
  })

  it('has each tag once and the time stamp first', () => {
    const tags = decoded(flightPacket(start)).items.map(({ tag }) => tag)
    expect(new Set(tags).size).toBe(tags.length)
    expect(tags[0]).toBe(2)
    expect(numberOfTag(decoded(flightPacket(start)), 65)).toBe(19)
  })
})
