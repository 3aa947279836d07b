import type { Geolocation } from '../schema/pipeline.ts'
import { type KlvPacket, numberOfTag } from './packet.ts'

const LATITUDE = 13
const LONGITUDE = 14
const HEADING = 5
/** Extended ellipsoid height, ellipsoid height, MSL, in order of precedence (requirement ST 0601.8-17). */
const ALTITUDES = [104, 75, 15] as const

/** The position of the sensor: WGS 84 degrees, altitude in metres, platform heading in degrees from true north. Null when the packet has none. */
export const geolocationOf = (packet: KlvPacket): Geolocation | null => {
  const latitude = numberOfTag(packet, LATITUDE)
  const longitude = numberOfTag(packet, LONGITUDE)
  if (latitude === null || longitude === null) return null
  return { latitude, longitude, altitude: altitudeOf(packet), heading: numberOfTag(packet, HEADING) }
}

const altitudeOf = (packet: KlvPacket): number | null => {
  for (const tag of ALTITUDES) {
    const altitude = numberOfTag(packet, tag)
    if (altitude !== null) return altitude
  }
  return null
}
