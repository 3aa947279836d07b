import { describe, expect, it } from 'vitest'
import { polygonOf } from '../../../../../engine/klv/footprint/polygon.ts'

/** Corners as longitude and latitude. */
const area = (...corners: readonly (readonly [number, number])[]) =>
  polygonOf(corners.map(([longitude, latitude]) => ({ latitude, longitude })))

const ringsOf = ({ coordinates }: ReturnType<typeof area>) => coordinates.flat() as unknown as number[][][]

/** Counter-clockwise. */
const CORNERS = [
  [0, 1],
  [0, 0],
  [2, 0],
  [2, 1],
] as const

describe('the polygon of a footprint', () => {
  it('is closed and counter-clockwise, whichever way the corners run', () => {
    const polygon = { type: 'Polygon', coordinates: [[...CORNERS, CORNERS[0]]] }
    expect([area(...CORNERS), area(...CORNERS.toReversed())]).toEqual([polygon, polygon])
  })

  it.each([0, 1, 2, 3])('is cut in two at the antimeridian, whichever corner comes first: %d', (first) => {
    const across = CORNERS.map(([longitude, latitude]) => [longitude === 0 ? 179 : -179, latitude] as const)
    const parts = ringsOf(area(...across.slice(first), ...across.slice(0, first)))
    expect(parts.map((ring) => [ring.length, extent(ring)])).toEqual([
      [5, { west: 179, east: 180, south: 0, north: 1, area: 1 }],
      [5, { west: -180, east: -179, south: 0, north: 1, area: 1 }],
    ])
  })

  it('that touches the antimeridian stays whole', () => {
    expect(area([179, 0], [180, 0], [180, 1], [179, 1]).type).toBe('Polygon')
    expect(area([179, 0], [-180, 0], [-180, 1], [179, 1])).toEqual(area([179, 0], [180, 0], [180, 1], [179, 1]))
    expect(area([-180, 0], [-179, 0], [-179, 1], [-180, 1]).type).toBe('Polygon')
  })

  it('with corners on the antimeridian has no point twice', () => {
    expect(ringsOf(area([179, 0], [180, -1], [-179, 0], [180, 1])).map((ring) => ring.length)).toEqual([4, 4])
  })

  it.each([
    { latitude: 89, south: 89, north: 90 },
    { latitude: -89, south: -90, north: -89 },
  ])('round a pole reaches from one side of the map to the other: $latitude', ({ latitude, south, north }) => {
    for (const longitudes of [
      [45, 135, -135, -45],
      [-45, -135, 135, 45],
      [0, 90, 180, -90],
    ]) {
      const geometry = area(...longitudes.map((longitude) => [longitude, latitude] as const))
      expect(geometry.type).toBe('Polygon')
      const [ring] = geometry.coordinates as unknown as number[][][]
      expect(extent(ring ?? [])).toEqual({ west: -180, east: 180, south, north, area: 360 })
    }
  })
})

/** Bounds and signed area, positive for counter-clockwise; the ring must be closed. */
const extent = (ring: readonly (readonly number[])[]) => {
  expect(ring.at(-1)).toEqual(ring[0])
  const longitudes = ring.map(([longitude = Number.NaN]) => longitude)
  const latitudes = ring.map(([, latitude = Number.NaN]) => latitude)
  const steps = ring.slice(1).map(([x2 = 0, y2 = 0], index) => {
    const [x1 = 0, y1 = 0] = ring[index] ?? []
    return (x1 * y2 - x2 * y1) / 2
  })
  return {
    west: Math.min(...longitudes),
    east: Math.max(...longitudes),
    south: Math.min(...latitudes),
    north: Math.max(...latitudes),
    area: Number(steps.reduce((sum, step) => sum + step, 0).toFixed(6)),
  }
}
