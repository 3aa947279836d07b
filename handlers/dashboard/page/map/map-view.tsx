import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Place } from '../../../../lib/segments/place.ts'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { pipelines } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { loadPart } from '../api/upgrade.ts'
import type { Footprint, MapHandle } from './map.ts'

interface MapViewProps {
  /** One pipeline; all that have a position by default. */
  readonly id?: string
  readonly onChoose?: (id: string) => void
  readonly onPlace?: (place: Place) => void
  /** A place to mark. */
  readonly place?: Place | undefined
}

const FOOTPRINT_MS = 2000
/** Requests per round. */
const MAX_FOOTPRINTS = 20

export const tilesOf = (): string => document.querySelector<HTMLMetaElement>('meta[name="map-tiles"]')?.content ?? ''

export const withPosition = (id?: string): readonly Pipeline[] =>
  [...pipelines.value.values()]
    .map(({ value }) => value)
    .filter((pipeline) => pipeline.geolocation !== null && (id ?? pipeline.id) === pipeline.id)

/** The map; its code is loaded on demand. */
export const MapView = ({ id, onChoose, onPlace, place: asked }: MapViewProps) => {
  const place = useRef<HTMLDivElement>(null)
  const map = useSignal<MapHandle | undefined>(undefined)
  useEffect(() => {
    const end = new AbortController()
    void loadPart(import('./map.ts')).then((part) => {
      if (part === undefined || end.signal.aborted || place.current === null) return
      map.value = part.createMap(place.current, { tiles: tilesOf(), onChoose, onPlace })
      void followFootprints(map.value, id, end.signal)
    })
    return () => {
      end.abort()
      map.peek()?.close()
    }
  }, [id])
  useSignalEffect(() => map.value?.show(withPosition(id)))
  const shown = map.value
  useEffect(() => shown?.markPlace(asked), [shown, asked])
  return <section ref={place} class="map" aria-label="Map" />
}

const followFootprints = (map: MapHandle, id: string | undefined, signal: AbortSignal): Promise<void> =>
  whileVisible(signal, async () => {
    const decoded = withPosition(id).filter(({ klv }) => klv.state === 'playing')
    for (const pipeline of decoded.slice(0, MAX_FOOTPRINTS)) map.showFootprint(pipeline.id, await footprintOf(pipeline.id, signal))
    return FOOTPRINT_MS
  })

/** undefined when the metadata has no footprint. */
const footprintOf = async (id: string, signal: AbortSignal): Promise<Footprint | undefined> => {
  try {
    return ringsOf(await api.getKlv({ id, format: 'footprint', signal }))
  } catch {
    return undefined
  }
}

/** The outer rings of the answer of the API; undefined when it is no footprint. */
export const ringsOf = (feature: Awaited<ReturnType<typeof api.getKlv>>): Footprint | undefined => {
  if (typeof feature === 'string' || !('geometry' in feature)) return undefined
  const { geometry } = feature
  if (geometry?.type === 'Polygon') return geometry.coordinates.slice(0, 1)
  return geometry?.type === 'MultiPolygon' ? geometry.coordinates.map(([ring = []]) => ring) : undefined
}
