const TURN = 360

/** The longitude of the same meridian that is nearest to another one. It may exceed 180 degrees, so that tracks cross the antimeridian. */
export const longitudeNear = (longitude: number, other: number): number => longitude + TURN * Math.round((other - longitude) / TURN)

/** Degrees to add to the longitudes of a ring so that its center is nearest to a longitude. */
export const turnNear = (ring: readonly (readonly number[])[], longitude: number): number => {
  const longitudes = ring.map(([first = 0]) => first)
  const middle = (Math.min(...longitudes) + Math.max(...longitudes)) / 2
  return longitudeNear(middle, longitude) - middle
}
