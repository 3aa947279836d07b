import { turnedBack, type Vector } from './attitude.ts'
import { encodePacket } from './encode.ts'

/** Position and attitude of the synthetic aircraft, in degrees and metres. */
interface FlightState {
  readonly latitude: number
  readonly longitude: number
  /** Above mean sea level. */
  readonly altitude: number
  readonly heading: number
  readonly pitch: number
  readonly roll: number
}

const CENTER = { latitude: -27.6, longitude: -48.5, altitude: 1200 }
const METERS_PER_DEGREE = 111_320
const RADIUS_M = 1500
const LAP_SECONDS = 180
const CLIMB_M = 120
const CLIMB_SECONDS = 60
const RADIANS = Math.PI / 180
const COS_LATITUDE = Math.cos(CENTER.latitude * RADIANS)

/** The state at a time in milliseconds: clockwise circles, climbing and descending. Deterministic. */
export const flightState = (timeMs: number): FlightState => {
  const seconds = timeMs / 1000
  const bearing = (2 * Math.PI * seconds) / LAP_SECONDS // from the centre to the aircraft
  const climb = (2 * Math.PI * seconds) / CLIMB_SECONDS
  return {
    latitude: CENTER.latitude + (RADIUS_M / METERS_PER_DEGREE) * Math.cos(bearing),
    longitude: CENTER.longitude + (RADIUS_M / METERS_PER_DEGREE / COS_LATITUDE) * Math.sin(bearing),
    altitude: CENTER.altitude + CLIMB_M * Math.sin(climb),
    heading: wrap360(bearing / RADIANS + 90),
    pitch: 4 * Math.cos(climb),
    roll: 20,
  }
}

const wrap360 = (degrees: number): number => ((degrees % 360) + 360) % 360

/** Where the camera looks, relative to the aircraft: azimuth and elevation in degrees. */
const lookAtCenter = ({ heading, pitch, roll, altitude }: FlightState) => {
  const toCenter = (heading + 90) * RADIANS
  const ray: Vector = [RADIUS_M * Math.cos(toCenter), RADIUS_M * Math.sin(toCenter), altitude]
  const [forward, right, down] = turnedBack(ray, { yaw: heading, pitch, roll })
  return { azimuth: wrap360(Math.atan2(right, forward) / RADIANS), elevation: -Math.atan2(down, Math.hypot(forward, right)) / RADIANS }
}

const SPEED_M_S = (2 * Math.PI * RADIUS_M) / LAP_SECONDS

/** The ST 0601 packet at a time in milliseconds since the epoch; the camera points at the centre of the circles. */
export const flightPacket = (timeMs: number): Uint8Array => {
  const state = flightState(timeMs)
  const look = lookAtCenter(state)
  return encodePacket([
    [2, Math.round(timeMs * 1000)],
    [3, 'SYNTHETIC'],
    [65, 19],
    [10, 'Test source'],
    [11, 'EO'],
    [12, 'WGS-84'],
    [5, state.heading],
    [6, state.pitch],
    [7, state.roll],
    [13, state.latitude],
    [14, state.longitude],
    [15, state.altitude],
    [16, 20],
    [17, 11.25],
    [18, look.azimuth],
    [19, look.elevation],
    [20, 0],
    [21, Math.hypot(state.altitude, RADIUS_M)],
    [23, CENTER.latitude],
    [24, CENTER.longitude],
    [25, 0],
    [56, Math.round(SPEED_M_S)],
    [104, state.altitude],
  ])
}
