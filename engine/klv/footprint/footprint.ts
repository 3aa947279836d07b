import { type KlvPacket, numberOfTag } from '../../../lib/st0601/packet.ts'
import { viewedGround } from './field-of-view.ts'
import { type Place, wrapLongitude } from './geodesy.ts'

/** What the sensor sees on the ground: four places, and facts about how they were found for the properties of a Feature. */
export interface Footprint {
  readonly method: 'corners' | 'offsets' | 'field_of_view'
  /** Upper left, upper right, lower right and lower left of the picture. */
  readonly corners: readonly Place[]
  readonly facts: Readonly<Record<string, string | number>>
}

const LATITUDE_TAGS = { corners: [82, 84, 86, 88], offsets: [26, 28, 30, 32] } as const
const FRAME_CENTER = { latitude: 23, longitude: 24 } as const

/**
 * The footprint of a packet: its corners (ST 0601 sections 8.82 to 8.89), else the offsets of the corners from the centre of the
 * frame (sections 8.26 to 8.33 with 8.23 and 8.24), else where the field of view meets flat ground. `incomplete` when the packet
 * has none of them; `horizon` when the field of view reaches above the horizon.
 */
export const footprintOf = (packet: KlvPacket): Footprint | 'incomplete' | 'horizon' => {
  const sent = cornersOf(packet)
  if (sent !== null) return { method: 'corners', corners: sent, facts: {} }
  const offset = offsetCornersOf(packet)
  if (offset !== null) return { method: 'offsets', corners: offset, facts: {} }
  const viewed = viewedGround(packet)
  if (typeof viewed === 'string') return viewed
  const { corners, sensorAltitude, altitudeReference, groundElevation, assumedZero } = viewed
  const facts = { sensor_altitude: sensorAltitude, altitude_reference: altitudeReference, ground_elevation: groundElevation }
  return { method: 'field_of_view', corners, facts: assumedZero.length === 0 ? facts : { ...facts, assumed_zero: assumedZero.join(',') } }
}

/** Longitudes have the tag after that of the latitude. */
const pairsOf = (packet: KlvPacket, latitudeTags: readonly number[]): readonly Place[] | null => {
  const places: Place[] = []
  for (const tag of latitudeTags) {
    const [latitude, longitude] = [numberOfTag(packet, tag), numberOfTag(packet, tag + 1)]
    if (latitude === null || longitude === null) return null
    places.push({ latitude, longitude })
  }
  return places
}

const cornersOf = (packet: KlvPacket): readonly Place[] | null => {
  const corners = pairsOf(packet, LATITUDE_TAGS.corners)
  return corners !== null && haveExtent(corners) ? corners : null
}

const offsetCornersOf = (packet: KlvPacket): readonly Place[] | null => {
  const latitude = numberOfTag(packet, FRAME_CENTER.latitude)
  const longitude = numberOfTag(packet, FRAME_CENTER.longitude)
  const offsets = pairsOf(packet, LATITUDE_TAGS.offsets)
  if (latitude === null || longitude === null || offsets === null || !haveExtent(offsets)) return null
  const corners = offsets.map((offset) => ({
    latitude: latitude + offset.latitude,
    longitude: wrapLongitude(longitude + offset.longitude),
  }))
  return corners.every((corner) => Math.abs(corner.latitude) <= 90) ? corners : null
}

/** Senders without corners set all of them to the same, mostly 0. */
const haveExtent = ([first, ...others]: readonly Place[]): boolean =>
  others.some(({ latitude, longitude }) => latitude !== first?.latitude || longitude !== first.longitude)
