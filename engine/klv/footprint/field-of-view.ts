import { type Attitude, turned, type Vector } from '../../../lib/st0601/attitude.ts'
import { type KlvPacket, numberOfTag } from '../../../lib/st0601/packet.ts'
import { horizonDip, type Place, placeOnPlane } from './geodesy.ts'

/** The corners of a picture on the ground, and what they were computed with; heights in metres. */
interface ViewedGround {
  readonly corners: readonly Place[]
  readonly sensorAltitude: number
  /** Above mean sea level (tag 15) or above the ellipsoid (tags 104 and 75). */
  readonly altitudeReference: 'msl' | 'hae'
  readonly groundElevation: number
  /** Angles that the packet does not have, taken as 0, by their names in the API. */
  readonly assumedZero: readonly string[]
}

interface SensorView {
  readonly position: Place
  readonly platform: Attitude
  readonly sensor: Attitude
  /** Full angles of the picture, degrees. */
  readonly horizontal: number
  readonly vertical: number
}

/**
 * Where the rays through the corners of the picture meet flat ground: upper left, upper right, lower right, lower left.
 * A pinhole camera without distortion (the collinearity equations of MISB ST 0801); the ground is the plane below the sensor at
 * the elevation of the target (tag 42, else 25, else 0). `incomplete` when the packet lacks what is needed; `horizon` when a ray
 * does not come down to the ground this side of the horizon, or the sensor is not above the ground.
 * The height over the ground is that above sea level (tag 15) where there is one, because tags 42 and 25 are too; the height above
 * the ellipsoid (104, else 75) is else taken as such, off by the undulation of the geoid (at most 106 m).
 */
export const viewedGround = (packet: KlvPacket): ViewedGround | 'incomplete' | 'horizon' => {
  const view = sensorViewOf(packet)
  const altitude = altitudeOf(packet)
  if (view === null || altitude === null) return 'incomplete'
  const groundElevation = numberOfTag(packet, 42) ?? numberOfTag(packet, 25) ?? 0
  const height = altitude.sensorAltitude - groundElevation
  if (height <= 0) return 'horizon'
  const corners: Place[] = []
  for (const ray of cornerRays(view)) {
    const [north, east, down] = turned(turned(ray, view.sensor), view.platform)
    if (down <= Math.sin(horizonDip(height)) * Math.hypot(north, east, down)) return 'horizon'
    corners.push(placeOnPlane(view.position, groundElevation, (east * height) / down, (north * height) / down))
  }
  return {
    corners,
    ...altitude,
    groundElevation,
    assumedZero: ASSUMED_ZERO.filter(({ tags }) => !hasAny(packet, tags)).map(({ key }) => key),
  }
}

/** Rays along the axes of the camera. */
const cornerRays = ({ horizontal, vertical }: SensorView): readonly Vector[] => {
  const right = Math.tan((horizontal * Math.PI) / 360)
  const down = Math.tan((vertical * Math.PI) / 360)
  return [
    [1, -right, -down],
    [1, right, -down],
    [1, right, down],
    [1, -right, down],
  ]
}

const altitudeOf = (packet: KlvPacket): Pick<ViewedGround, 'sensorAltitude' | 'altitudeReference'> | null => {
  const aboveSea = numberOfTag(packet, 15)
  if (aboveSea !== null) return { sensorAltitude: aboveSea, altitudeReference: 'msl' }
  const aboveEllipsoid = numberOfTag(packet, 104) ?? numberOfTag(packet, 75)
  return aboveEllipsoid === null ? null : { sensorAltitude: aboveEllipsoid, altitudeReference: 'hae' }
}

/** A platform that sends no attitude is level, and a mount that sends no angle cannot turn that way. */
const ASSUMED_ZERO = [
  { tags: [90, 6], key: 'platform_pitch_angle' },
  { tags: [91, 7], key: 'platform_roll_angle' },
  { tags: [18], key: 'sensor_relative_azimuth_angle' },
  { tags: [20], key: 'sensor_relative_roll_angle' },
] as const

const hasAny = (packet: KlvPacket, tags: readonly number[]): boolean => packet.items.some(({ tag }) => tags.includes(tag))

/** The first tag with a value; 0 when the packet has none of them; null when it has, and the sender marks them as unknown. */
const angleOf = (packet: KlvPacket, tags: readonly number[]): number | null => {
  for (const tag of tags) {
    const angle = numberOfTag(packet, tag)
    if (angle !== null) return angle
  }
  return hasAny(packet, tags) ? null : 0
}

const sensorViewOf = (packet: KlvPacket): SensorView | null => {
  const [latitude, longitude] = [numberOfTag(packet, 13), numberOfTag(packet, 14)]
  const [horizontal, vertical] = [numberOfTag(packet, 16), numberOfTag(packet, 17)]
  const [heading, elevation] = [numberOfTag(packet, 5), numberOfTag(packet, 19)]
  const [pitch, roll, azimuth, twist] = ASSUMED_ZERO.map(({ tags }) => angleOf(packet, tags))
  if (latitude === null || longitude === null || heading === null || elevation === null) return null
  if (!isOpen(horizontal) || !isOpen(vertical)) return null
  if (pitch == null || roll == null || azimuth == null || twist == null) return null
  const platform = { yaw: heading, pitch, roll }
  const sensor = { yaw: azimuth, pitch: elevation, roll: twist }
  return { position: { latitude, longitude }, platform, sensor, horizontal, vertical }
}

/** Half a turn has no tangent, and no angle no picture. */
const isOpen = (angle: number | null): angle is number => angle !== null && angle > 0 && angle < 180
