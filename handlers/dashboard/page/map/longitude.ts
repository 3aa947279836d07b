const TURN = 360

/** The longitude of the same meridian that is nearest to another one, which may be beyond 180 degrees: so a way across the antimeridian goes on. */
export const longitudeNear = (longitude: number, other: number): number => longitude + TURN * Math.round((other - longitude) / TURN)

/** How far to turn a ring, in degrees, so that its middle is the nearest to a longitude; its first coordinates are longitudes. */
export const turnNear = (ring: readonly (readonly number[])[], longitude: number): number => {
  const longitudes = ring.map(([first = 0]) => first)
  const middle = (Math.min(...longitudes) + Math.max(...longitudes)) / 2
  return longitudeNear(middle, longitude) - middle
}
