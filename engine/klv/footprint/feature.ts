import { arrivalJson, type KlvArrival } from '../st0601/json.ts'
import type { KlvPacket } from '../st0601/packet.ts'
import { type Footprint, footprintOf } from './footprint.ts'
import { type PolygonGeometry, polygonOf } from './polygon.ts'

/** A GeoJSON Feature (RFC 7946 section 3.2) with the ground that the sensor sees. */
export interface FootprintFeature {
  readonly type: 'Feature'
  readonly geometry: PolygonGeometry
  readonly properties: Pick<Footprint, 'method'> & Readonly<Record<string, string | number | boolean | null>>
}

/** The footprint of a packet; why there is none as in `footprintOf`. */
export const footprintFeature = (packet: KlvPacket, arrival: KlvArrival): FootprintFeature | 'incomplete' | 'horizon' => {
  const footprint = footprintOf(packet)
  if (typeof footprint === 'string') return footprint
  const { method, corners, facts } = footprint
  return { type: 'Feature', geometry: polygonOf(corners), properties: { method, ...facts, ...arrivalJson(packet, arrival) } }
}
