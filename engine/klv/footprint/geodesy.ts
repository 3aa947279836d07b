/** A place on the WGS 84 ellipsoid, in degrees: latitude -90 to 90, longitude -180 to 180. */
export interface Place {
  readonly latitude: number
  readonly longitude: number
}

// WGS 84 (NGA.STND.0036 section 3): semi-major axis in metres, flattening.
const EQUATOR_RADIUS_M = 6_378_137
const FLATTENING = 1 / 298.257_223_563
const POLE_RADIUS_M = EQUATOR_RADIUS_M * (1 - FLATTENING)
const ECCENTRICITY_2 = FLATTENING * (2 - FLATTENING)
const SECOND_ECCENTRICITY_2 = ECCENTRICITY_2 / (1 - ECCENTRICITY_2)
const MEAN_RADIUS_M = 6_371_008.8

const RADIANS = Math.PI / 180

/**
 * The place below a point of the plane that touches a surface `height` metres above the ellipsoid at `origin`; the point is
 * `east` and `north` metres from where it touches. By way of earth-centred coordinates, and back as Bowring does (1985).
 */
export const placeOnPlane = (origin: Place, height: number, east: number, north: number): Place => {
  const latitude = origin.latitude * RADIANS
  const [sin, cos] = [Math.sin(latitude), Math.cos(latitude)]
  const normal = EQUATOR_RADIUS_M / Math.sqrt(1 - ECCENTRICITY_2 * sin * sin)
  // In the frame whose x axis is at the longitude of the origin.
  const x = (normal + height) * cos - north * sin
  const z = (normal * (1 - ECCENTRICITY_2) + height) * sin + north * cos
  const axisDistance = Math.hypot(x, east)
  const reduced = Math.atan2(z * EQUATOR_RADIUS_M, axisDistance * POLE_RADIUS_M)
  const found = Math.atan2(
    z + SECOND_ECCENTRICITY_2 * POLE_RADIUS_M * Math.sin(reduced) ** 3,
    axisDistance - ECCENTRICITY_2 * EQUATOR_RADIUS_M * Math.cos(reduced) ** 3,
  )
  return { latitude: found / RADIANS, longitude: wrapLongitude(origin.longitude + Math.atan2(east, x) / RADIANS) }
}

/** The angle in radians by which the horizon lies below the horizontal, seen from a height in metres above the ground. */
export const horizonDip = (height: number): number => Math.acos(MEAN_RADIUS_M / (MEAN_RADIUS_M + height))

/** A longitude in degrees, from -180 to below 180; 180 itself stays. */
export const wrapLongitude = (longitude: number): number =>
  longitude >= -180 && longitude <= 180 ? longitude : ((((longitude + 180) % 360) + 360) % 360) - 180
