import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Place } from '../../../../lib/segments/place.ts'
import { api } from '../api/api.ts'
import type { KlvPacket, Pipeline } from '../api/types.ts'
import { KlvValues } from '../klv/klv-values.tsx'
import type { Footprint } from '../map/map.ts'
import { ringsOf } from '../map/map-view.tsx'
import { MomentMap } from '../map/moment-map.tsx'
import { timeText } from '../words/format.ts'
import { newestOnly } from './newest-only.ts'

interface MomentKlvProps {
  readonly pipeline: Pipeline
  readonly at: number
  /** A place that was asked for. */
  readonly place: Place | undefined
  readonly onPlace: (place: Place) => void
}

interface Found {
  readonly packet: KlvPacket
  readonly footprint: Footprint | undefined
}

/** The KLV values of a recorded moment, and on a map where the sensor was and what it saw. */
export const MomentKlv = ({ pipeline, at, place, onPlace }: MomentKlvProps) => {
  const found = useSignal<Found | undefined>(undefined)
  const loader = useRef<ReturnType<typeof newestOnly<Found>> | undefined>(undefined)
  useEffect(() => {
    loader.current = newestOnly(
      (moment, signal) => load(pipeline.id, moment, signal),
      (loaded) => {
        found.value = loaded
      },
    )
    return () => loader.current?.close()
  }, [pipeline.id])
  useEffect(() => loader.current?.want(at), [pipeline.id, at])
  if (found.value === undefined) return null
  const { packet, footprint } = found.value
  const position = positionOf(packet)
  return (
    <div class="timeline-klv">
      <div>
        <h3>KLV of this moment</h3>
        <p class="muted small">{`Packet of ${timeText(packet.timestamp ?? packet.received_at)}`}</p>
        <KlvValues packet={packet} />
      </div>
      {position !== undefined && (
        <div>
          <MomentMap pipeline={{ ...pipeline, geolocation: position }} footprint={footprint} place={place} onPlace={onPlace} />
          <p class="muted small">Click on the map to see when this place was in the picture.</p>
        </div>
      )}
    </div>
  )
}

const load = async (id: string, moment: number, signal: AbortSignal): Promise<Found | undefined> => {
  const query = { id, at: new Date(moment).toISOString(), signal }
  const packet = await api.getRecordedKlv(query)
  if (!('items' in packet)) return undefined
  const footprint = await api.getRecordedKlv({ ...query, format: 'footprint' }).then(ringsOf, () => undefined)
  return { packet, footprint }
}

const positionOf = ({ values }: KlvPacket): NonNullable<Pipeline['geolocation']> | undefined => {
  const { sensor_latitude: latitude, sensor_longitude: longitude, platform_heading_angle: heading } = values
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined
  return { latitude, longitude, altitude: null, heading: typeof heading === 'number' ? heading : null }
}
