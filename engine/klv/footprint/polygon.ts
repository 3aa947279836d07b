import type { Place } from './geodesy.ts'

/** Longitude and latitude in degrees (RFC 7946 section 3.1.1). */
type Position = readonly [longitude: number, latitude: number]
type Ring = readonly Position[]

/** Rings are closed and run counter-clockwise (RFC 7946 section 3.1.6). */
export type PolygonGeometry =
  | { readonly type: 'Polygon'; readonly coordinates: readonly Ring[] }
  | { readonly type: 'MultiPolygon'; readonly coordinates: readonly (readonly Ring[])[] }

const TURN = 360
const ANTIMERIDIAN = 180

/**
 * The area between corners as GeoJSON. Cut at the antimeridian (RFC 7946 section 3.1.9) it is a MultiPolygon of two parts; an area
 * with a pole in it is a Polygon from one side of the map to the other, with the pole as its northern or southern edge.
 */
export const polygonOf = (corners: readonly Place[]): PolygonGeometry => {
  const { path, turn } = unwrapped(corners)
  if (turn !== 0) return { type: 'Polygon', coordinates: [closed(aroundPole(path, turn))] }
  const west = Math.min(...path.map(([longitude]) => longitude))
  const start = Math.floor((west + ANTIMERIDIAN) / TURN) * TURN
  const area = shifted(path, -start)
  if (area.every(([longitude]) => longitude <= ANTIMERIDIAN)) return { type: 'Polygon', coordinates: [closed(area)] }
  const parts = [between(area, -ANTIMERIDIAN, ANTIMERIDIAN), shifted(between(area, ANTIMERIDIAN, ANTIMERIDIAN + TURN), -TURN)]
  return { type: 'MultiPolygon', coordinates: parts.map((part) => [closed(part)]) }
}

/** The corners with longitudes that do not jump, and how far the way round them goes about the axis: 0, 360 or -360 degrees. */
const unwrapped = (corners: readonly Place[]): { readonly path: Ring; readonly turn: number } => {
  const [first] = corners
  if (first === undefined) return { path: [], turn: 0 }
  const path: Position[] = []
  let longitude = first.longitude
  for (const corner of corners) {
    longitude += shortestStep(longitude, corner.longitude)
    path.push([longitude, corner.latitude])
  }
  longitude += shortestStep(longitude, first.longitude)
  return { path, turn: Math.round((longitude - first.longitude) / TURN) * TURN }
}

const shortestStep = (from: number, to: number): number => {
  const step = (((to - from) % TURN) + TURN) % TURN
  return step > TURN / 2 ? step - TURN : step
}

/** The band between a way round the axis and the pole inside it. */
const aroundPole = (path: Ring, turn: number): Ring => {
  const pole = path.reduce((sum, [, latitude]) => sum + latitude, 0) >= 0 ? 90 : -90
  const twice = [...path, ...shifted(path, turn), ...shifted(path.slice(0, 1), 2 * turn)]
  const [start, end] = [twice[0]?.[0] ?? 0, twice.at(-1)?.[0] ?? 0]
  const band: Ring = [...twice, [end, pole], [start, pole]]
  const from = Math.ceil((Math.min(start, end) - ANTIMERIDIAN) / TURN) * TURN + ANTIMERIDIAN
  return shifted(between(band, from, from + TURN), -from - ANTIMERIDIAN)
}

const shifted = (ring: Ring, degrees: number): Ring => ring.map(([longitude, latitude]) => [longitude + degrees, latitude])

/** The part of an area between two meridians (Sutherland and Hodgman 1974). */
const between = (ring: Ring, west: number, east: number): Ring =>
  clipped(
    clipped(ring, west, (longitude) => longitude >= west),
    east,
    (longitude) => longitude <= east,
  )

const clipped = (ring: Ring, meridian: number, isInside: (longitude: number) => boolean): Ring =>
  ring.flatMap((point, index) => {
    const previous = ring.at(index - 1) ?? point
    const crosses = isInside(previous[0]) !== isInside(point[0])
    return [...(crosses ? [crossing(previous, point, meridian)] : []), ...(isInside(point[0]) ? [point] : [])]
  })

const crossing = (from: Position, to: Position, meridian: number): Position => [
  meridian,
  from[1] + ((to[1] - from[1]) * (meridian - from[0])) / (to[0] - from[0]),
]

const closed = (ring: Ring): Ring => {
  const corners = ring.filter(([longitude, latitude], index) => {
    const [before, below] = ring.at(index - 1) ?? []
    return longitude !== before || latitude !== below // a corner on the cut is in both halves of its edges
  })
  const ordered = signedArea(corners) < 0 ? corners.toReversed() : corners
  return [...ordered, ...ordered.slice(0, 1)]
}

/** Positive when the ring runs counter-clockwise on a map. */
const signedArea = (ring: Ring): number =>
  ring.reduce((sum, [longitude, latitude], index) => {
    const [nextLongitude, nextLatitude] = ring[(index + 1) % ring.length] ?? [longitude, latitude]
    return sum + (longitude * nextLatitude - nextLongitude * latitude) / 2
  }, 0)
