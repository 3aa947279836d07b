import { ApiError } from '../../../lib/errors.ts'
import { arrivalJson, type KlvArrival } from '../../../lib/st0601/json.ts'
import type { KlvPacket } from '../../../lib/st0601/packet.ts'
import { type Footprint, footprintOf } from './footprint.ts'
import { type PolygonGeometry, polygonOf } from './polygon.ts'

/** A GeoJSON Feature (RFC 7946 section 3.2) with the ground that the sensor sees. */
export interface FootprintFeature {
  readonly type: 'Feature'
  readonly geometry: PolygonGeometry
  readonly properties: Pick<Footprint, 'method'> & Readonly<Record<string, string | number | boolean | null>>
}

const WHY = {
  incomplete:
    'it has neither corners (tags 82 to 89, or 26 to 33 with 23 and 24) nor position, altitude, attitude and field of view (13, 14, 15, 5, 19, 16, 17). Try again with a later packet.',
  horizon: 'the picture reaches above the horizon. Point the sensor further down.',
} as const

/** The footprint of a packet; NOT_FOUND with `details.reason` no_footprint when it has none. */
export const footprintFeature = (packet: KlvPacket, arrival: KlvArrival): FootprintFeature => {
  const footprint = footprintOf(packet)
  if (typeof footprint === 'string')
    throw new ApiError('NOT_FOUND', `The KLV packet of the pipeline "${arrival.pipelineId}" has no footprint: ${WHY[footprint]}`, {
      reason: 'no_footprint',
    })
  const { method, corners, facts } = footprint
  return { type: 'Feature', geometry: polygonOf(corners), properties: { method, ...facts, ...arrivalJson(packet, arrival) } }
}
