import { describe, expect, it } from 'vitest'
import { footprintOf } from '../../../../../engine/klv/footprint/footprint.ts'
import type { Place } from '../../../../../engine/klv/footprint/geodesy.ts'
import type { KlvInput } from '../../../../../lib/st0601/encode.ts'
import type { KlvPacket } from '../../../../../lib/st0601/packet.ts'
import { flightPacket } from '../../../../../lib/st0601/synthetic-flight.ts'
import { fromHex } from '../../../../fixtures/klv/hex.ts'
import { decoded, packetOf, type TagValues } from '../../../../fixtures/klv/local-set.ts'
import { metresBetween, pinholeCorners, type View } from '../../../../fixtures/klv/pinhole-on-geodesics.ts'
import { DYNAMIC_CONSTANT } from '../../../../fixtures/klv/st0902-packets.ts'
import { TAG_EXAMPLES } from '../../../../fixtures/klv/tag-examples.ts'
import { createRandom } from '../../../../helpers/random.ts'

const found = (values: TagValues | KlvPacket) => {
  const footprint = footprintOf('items' in values ? (values as KlvPacket) : packetOf(values as TagValues))
  return typeof footprint === 'string' ? expect.fail(footprint) : footprint
}

const expectPlaces = (corners: readonly Place[], expected: readonly Place[], metres: number): void => {
  expect(corners).toHaveLength(expected.length)
  for (const [index, corner] of corners.entries()) {
    expect(metresBetween(corner, expected[index] ?? { latitude: Number.NaN, longitude: Number.NaN })).toBeLessThan(metres)
  }
}

/** Latitudes and longitudes of the corners, in the order of the tags. */
const pairs = (values: readonly number[]): readonly Place[] =>
  [0, 2, 4, 6].map((at) => ({ latitude: values[at] ?? Number.NaN, longitude: values[at + 1] ?? Number.NaN }))
const tagged = (first: number, values: readonly KlvInput[]): TagValues => Object.fromEntries(values.map((value, at) => [first + at, value]))

/** The examples of ST 0601 sections 8.26 to 8.33 and 8.82 to 8.89 as the standard prints them. */
const STANDARD_CORNERS = [
  -10.579637999887, 29.1273677986333, -10.5661816260963, 29.140824172424, -10.5527275411938, 29.1542782573265, -10.5392712674031,
  29.1677346311172,
]

describe('the footprint from corners', () => {
  it("is within a metre of the standard's corners, decoded from its bytes", () => {
    const examples = TAG_EXAMPLES.filter(({ tag }) => tag === 82 || tag === 83)
    expect(examples).toHaveLength(2)
    const bytes = Object.fromEntries(examples.map(({ tag, hex }) => [tag, fromHex(hex)]))
    const packet = packetOf({ ...tagged(82, STANDARD_CORNERS), ...bytes })
    const { method, corners } = found(packet)
    expect(method).toBe('corners')
    expectPlaces(corners, pairs(STANDARD_CORNERS), 1)
  })

  it('takes precedence over offsets and the field of view', () => {
    const values = { ...NADIR, 23: 5, 24: 6, ...tagged(26, OFFSETS), ...tagged(82, STANDARD_CORNERS) }
    expect(found(values).method).toBe('corners')
    expect(found({ ...values, 85: null }).method).toBe('offsets')
    expect(found({ ...values, 85: null, 33: null }).method).toBe('field_of_view')
  })

  it('is not made of four equal corners, which say that the sender does not know', () => {
    expect(footprintOf(packetOf(tagged(82, [0, 0, 0, 0, 0, 0, 0, 0])))).toBe('incomplete')
    expect(footprintOf(packetOf({ 23: 1, 24: 2, ...tagged(26, [0, 0, 0, 0, 0, 0, 0, 0]) }))).toBe('incomplete')
  })
})

const OFFSETS = [0.01, -0.02, 0.01, 0.02, -0.01, 0.02, -0.01, -0.02]

describe('the footprint from offsets', () => {
  it("gives the standard's corners within a metre, decoded from its bytes", () => {
    const bytes = ['C06E', 'CBE9', 'D765', 'E2E0', 'EE5B', 'F9D6', '0552', '10CD'].map(fromHex)
    const { method, corners } = found({ 23: fromHex('F101A229'), 24: fromHex('14BC082B'), ...tagged(26, bytes) })
    expect(method).toBe('offsets')
    expectPlaces(corners, pairs(STANDARD_CORNERS), 1)
  })

  it('adds them to the centre of the frame', () => {
    const { method, corners } = found({ 23: 47.5, 24: 8.5, ...tagged(26, OFFSETS) })
    expect(method).toBe('offsets')
    expectPlaces(corners, pairs([47.51, 8.48, 47.51, 8.52, 47.49, 8.52, 47.49, 8.48]), 1)
  })

  it('goes on across the antimeridian', () => {
    const { corners } = found({ 23: 0, 24: 179.99, ...tagged(26, OFFSETS) })
    expectPlaces(corners, pairs([0.01, 179.97, 0.01, -179.99, -0.01, -179.99, -0.01, 179.97]), 1)
    for (const { longitude } of corners) expect(Math.abs(longitude)).toBeLessThanOrEqual(180)
  })

  it('needs the centre, and no corner beyond a pole', () => {
    expect(footprintOf(packetOf({ 23: 47.5, ...tagged(26, OFFSETS) }))).toBe('incomplete')
    expect(footprintOf(packetOf({ 23: 89.995, 24: 0, ...tagged(26, OFFSETS) }))).toBe('incomplete')
  })
})

// tan(h/2) = 1/2 and tan(v/2) = 1/4.
const HORIZONTAL = (2 * Math.atan(0.5) * 180) / Math.PI
const VERTICAL = (2 * Math.atan(0.25) * 180) / Math.PI
/** 1000 m above the equator, straight down. */
const NADIR = { 5: 0, 6: 0, 7: 0, 13: 0, 14: 0, 15: 1000, 16: HORIZONTAL, 17: VERTICAL, 18: 0, 19: -90, 20: 0, 25: 0 }
/** Degrees of a metre to the east and to the north at the equator: 1 / a and 1 / (a (1 - e²)) radians. */
const EAST = 180 / Math.PI / 6_378_137
const NORTH = 180 / Math.PI / (6_378_137 * (1 - 0.006_694_379_990_14))
const atEquator = (...metres: readonly (readonly [east: number, north: number])[]): readonly Place[] =>
  metres.map(([east, north]) => ({ latitude: north * NORTH, longitude: east * EAST }))

describe('the footprint from the field of view', () => {
  it('of a camera that looks straight down is as wide and high as the angles say, its top to the front', () => {
    const down = found(NADIR)
    expect(down.method).toBe('field_of_view')
    expectPlaces(down.corners, atEquator([-500, 250], [500, 250], [500, -250], [-500, -250]), 0.2)
    expectPlaces(found({ ...NADIR, 5: 90 }).corners, atEquator([250, 500], [250, -500], [-250, -500], [-250, 500]), 0.2)
  })

  // Rays (1, ±1/2, ∓1/4) turned down by 45°: forward 5/3 and 3/5 of the height, sideways √2/2 over 3/4 and 5/4 of it.
  const [far, near] = [5000 / 3, 600]
  const [wide, narrow] = [1000 * (Math.SQRT1_2 / 0.75), 1000 * (Math.SQRT1_2 / 1.25)]

  it.each([
    ['pitch of the sensor', { 5: 90, 19: -45 }],
    ['azimuth of the sensor', { 5: 60, 18: 30, 19: -45 }],
    ['pitch of the platform', { 5: 90, 6: -20, 19: -25 }],
    ['full-range pitch of the platform', { 5: 90, 6: null, 90: -45, 19: 0 }],
    ['roll of the platform, the sensor to its side', { 5: 0, 7: 45, 18: 90, 19: 0 }],
    ['full-range roll of the platform', { 5: 0, 7: 0, 91: 45, 18: 90, 19: 0 }],
  ])('looks forty-five degrees down to the east: %s', (_, values) => {
    const { corners } = found({ ...NADIR, ...values })
    expectPlaces(corners, atEquator([far, wide], [far, -wide], [near, -narrow], [near, narrow]), 1)
  })

  it('is turned by the roll of the sensor, clockwise seen from behind it', () => {
    expectPlaces(found({ ...NADIR, 20: 90 }).corners, atEquator([250, 500], [250, -500], [-250, -500], [-250, 500]), 0.2)
  })

  it('uses the elevation of the target, else of the frame centre, else sea level', () => {
    const width = (values: TagValues) => {
      const [left, right] = found({ ...NADIR, ...values }).corners
      return Math.round(metresBetween(left ?? NOWHERE, right ?? NOWHERE))
    }
    expect([width({ 42: 400, 25: 600 }), width({ 25: 600 }), width({ 42: null, 25: null })]).toEqual([600, 400, 1000])
  })

  it.each([
    [
      { 75: 1200, 104: 1100 },
      { altitude_reference: 'msl', sensor_altitude: expect.closeTo(1000, 0) },
    ],
    [
      { 15: null, 75: 1200, 104: 1100 },
      { altitude_reference: 'hae', sensor_altitude: expect.closeTo(1100, 0) },
    ],
    [
      { 15: null, 75: 1200 },
      { altitude_reference: 'hae', sensor_altitude: expect.closeTo(1200, 0) },
    ],
  ])('prefers the altitude above sea level, which elevations refer to, and says which it took: %j', (values, facts) => {
    expect(found({ ...NADIR, ...values }).facts).toMatchObject(facts)
  })

  it('takes angles that are never sent as 0, and says so; not those that the sender marks as unknown', () => {
    const { 6: _pitch, 7: _roll, 18: _azimuth, 20: _twist, ...sent } = NADIR
    const { corners, facts } = found(sent)
    expectPlaces(corners, found(NADIR).corners, 0.01)
    expect(facts.assumed_zero).toBe('platform_pitch_angle,platform_roll_angle,sensor_relative_azimuth_angle,sensor_relative_roll_angle')
    expect(found(NADIR).facts).not.toHaveProperty('assumed_zero')
    expect(footprintOf(packetOf({ ...NADIR, 6: null }))).toBe('incomplete')
    expect(footprintOf(packetOf({ ...NADIR, 7: null }))).toBe('incomplete')
  })

  it.each([5, 13, 14, 15, 16, 17, 19])('needs tag %i', (tag) => {
    expect(footprintOf(packetOf({ ...NADIR, [tag]: fromHex('') }))).toBe('incomplete')
  })

  it.each([
    ['a picture without an angle', { 16: 0 }, 'incomplete'],
    ['a picture of half a turn', { 17: 180 }, 'incomplete'],
    ['a sensor that looks to the horizon', { 19: 0 }, 'horizon'],
    ['a sensor that looks up', { 19: 45 }, 'horizon'],
    ['a picture whose top is above the horizon', { 19: -14 }, 'horizon'],
    ['a ray between the horizontal and the horizon', { 19: -(VERTICAL / 2) - 0.9 }, 'horizon'],
    ['a sensor on the ground', { 15: 0, 25: 20 }, 'horizon'],
  ])('does not exist for %s', (_, values, reason) => {
    expect(footprintOf(packetOf({ ...NADIR, ...values }))).toBe(reason)
  })

  it('agrees with geodesics and quaternions to within a metre, wherever the sensor is', () => {
    const random = createRandom(601)
    const within = (min: number, max: number) => min + (max - min) * random.next()
    let compared = 0
    while (compared < 1000) {
      const view: View = {
        ...{ latitude: within(-90, 90), longitude: within(-180, 180), altitude: within(150, 9000), ground: within(-100, 5000) },
        ...{ heading: within(0, 359), pitch: within(-19, 19), roll: within(-49, 49) },
        ...{ azimuth: within(0, 359), elevation: within(-100, 10), twist: within(0, 359) },
        ...{ horizontal: within(0.5, 80), vertical: within(0.5, 60) },
      }
      const packet = packetOf({
        ...{ 5: view.heading, 6: view.pitch, 7: view.roll, 13: view.latitude, 14: view.longitude, 15: view.altitude },
        ...{ 16: view.horizontal, 17: view.vertical, 18: view.azimuth, 19: view.elevation, 20: view.twist, 42: view.ground },
      })
      const expected = pinholeCorners(asSent(packet))
      // Beyond this a plane and geodesics describe different ground.
      if (!expected.every(({ distance, down }) => down > 0 && distance > 0 && distance < 30_000)) continue
      expectPlaces(found(packet).corners, expected, 1)
      compared += 1
    }
  })

  it('is computed from the example packet of ST 0902', () => {
    // Its sensor is upside down and looks up behind it, with angles of 145° and 153°.
    expect(footprintOf(decoded(DYNAMIC_CONSTANT))).toBe('horizon')
  })

  it('lies round the centre that the simulated flight looks at', () => {
    for (let second = 0; second < 180; second += 5) {
      const { method, corners } = found(decoded(flightPacket(Date.UTC(2026, 0, 1) + second * 1000)))
      expect(method).toBe('field_of_view')
      const distances = corners.map((corner) => metresBetween(corner, { latitude: -27.6, longitude: -48.5 }))
      expect(Math.min(...distances)).toBeGreaterThan(250)
      expect(Math.max(...distances)).toBeLessThan(700)
    }
  })
})

const NOWHERE = { latitude: Number.NaN, longitude: Number.NaN }

/** The values as the packet has them, rounded to the steps of their tags. */
const asSent = (packet: KlvPacket): View => {
  const value = (tag: number): number => Number(packet.items.find((item) => item.tag === tag)?.value)
  return {
    ...{ latitude: value(13), longitude: value(14), altitude: value(15), ground: value(42) },
    ...{ heading: value(5), pitch: value(6), roll: value(7), azimuth: value(18), elevation: value(19), twist: value(20) },
    ...{ horizontal: value(16), vertical: value(17) },
  }
}
