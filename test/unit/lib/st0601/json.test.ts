import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { geolocationSchema } from '../../../../lib/schema/pipeline.ts'
import { geolocationOf } from '../../../../lib/st0601/geolocation.ts'
import { klvFeature, klvPacketJson } from '../../../../lib/st0601/json.ts'
import { numberOfTag } from '../../../../lib/st0601/packet.ts'
import { flightPacket, flightState } from '../../../../lib/st0601/synthetic-flight.ts'
import { fromHex } from '../../../fixtures/klv/hex.ts'
import { decoded, packetOf, type TagValues } from '../../../fixtures/klv/local-set.ts'
import { DYNAMIC_CONSTANT } from '../../../fixtures/klv/st0902-packets.ts'

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
    const json = klvPacketJson(packetOf({ 48: fromHex('010203'), 200: fromHex('01FF') }), arrival(0))
    expect(json.items.slice(0, 2)).toEqual([
      { tag: 48, name: 'Security Local Set', value: null, unit: null, raw: '010203' },
      { tag: 200, name: null, value: null, unit: null, raw: '01ff' },
    ])
    expect(json).toMatchObject({ values: {}, timestamp: null })
  })

  it('shows an invalid value as null', () => {
    const { values } = klvPacketJson(packetOf({ 5: null, 13: null }), arrival(0))
    expect(values).toEqual({ sensor_latitude: null, platform_heading_angle: null })
  })

  it.each([
    [5000, { age_ms: 5000, stale: false }],
    [5001, { age_ms: 5001, stale: true }],
    [-10, { age_ms: 0, stale: false }],
  ])('is stale when it is older than five seconds, and never of a negative age: %d ms', (age, expected) => {
    expect(klvPacketJson(decoded(DYNAMIC_CONSTANT), arrival(age))).toMatchObject(expected)
  })

  it('shows the greatest valid time stamp', () => {
    expect(klvPacketJson(packetOf({ 2: Number.MAX_SAFE_INTEGER }), arrival(0)).timestamp).toBe('2255-06-05T23:47:34.740Z')
  })
})

describe('a packet as GeoJSON', () => {
  it('is a Feature with the position and everything else in its properties', () => {
    expect(klvFeature(decoded(DYNAMIC_CONSTANT), arrival(1))).toMatchObject({
      type: 'Feature',
      geometry: {
        type: 'Point',
        coordinates: [expect.closeTo(128.42676, 5), expect.closeTo(60.17682, 5), expect.closeTo(14190.72, 2)],
      },
      properties: { pipeline_id: 'uav-1', mission_id: 'Mission 12', stale: false, checksum_ok: true },
    })
  })

  it('has two coordinates when the altitude is unknown and no geometry without a position', () => {
    expect(klvFeature(packetOf({ 13: 0, 14: 0 }), arrival(0)).geometry?.coordinates).toEqual([0, 0])
    expect(klvFeature(packetOf({ 65: 19 }), arrival(0)).geometry).toBeNull()
  })
})

describe('the geolocation of a packet', () => {
  const position = { 13: 10, 14: 20 }

  it.each<[string, TagValues, unknown]>([
    ['104 before 75 and 15', { 15: 100, 75: 200, 104: 300 }, expect.closeTo(300, 0)],
    ['75 before 15', { 15: 100, 75: 200 }, expect.closeTo(200, 0)],
    ['15 when it is the only one', { 15: 100 }, expect.closeTo(100, 0)],
    ['75 when 104 is invalid', { 75: 200, 104: null }, expect.closeTo(200, 0)],
    ['none when all are absent', {}, null],
  ])('takes the altitude of tag %s', (_, altitudes, altitude) => {
    expect(geolocationOf(packetOf({ ...position, ...altitudes }))).toMatchObject({ altitude })
  })

  it('has the heading of tag 5, or null', () => {
    expect(geolocationOf(packetOf({ ...position, 5: 90 }))?.heading).toBeCloseTo(90, 2)
    expect(geolocationOf(packetOf(position))?.heading).toBeNull()
  })

  it.each<TagValues>([{ 13: 10 }, { 14: 10 }, { 13: null, 14: 20 }, { 13: 10, 14: null }])(
    'is null with an incomplete position: %j',
    (values) => {
      expect(geolocationOf(packetOf(values))).toBeNull()
    },
  )

  it.each<TagValues>([
    { 5: 360, 13: -90, 14: -180, 104: -900 },
    { 5: 360, 13: 90, 14: 180, 104: 40_000 },
  ])('is a valid geolocation of the API: %j', (values) => {
    expect(v.is(geolocationSchema, geolocationOf(packetOf(values)))).toBe(true)
  })
})

describe('the synthetic flight', () => {
  const start = Date.UTC(2026, 0, 1)

  it('matches its packet at every second of a lap', () => {
    for (let ms = start; ms < start + 180_000; ms += 1000) {
      const { latitude, longitude, altitude, heading } = flightState(ms)
      const packet = decoded(flightPacket(ms))
      expect(packet.timestampUs).toBe(ms * 1000)
      expect(geolocationOf(packet)).toMatchObject({
        latitude: expect.closeTo(latitude, 7),
        longitude: expect.closeTo(longitude, 7),
        altitude: expect.closeTo(altitude, 1),
        heading: expect.closeTo(heading, 2),
      })
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
