import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
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
}

const FOOTPRINT_MS = 2000
/** Requests per round. */
const MAX_FOOTPRINTS = 20

const tilesOf = (): string => document.querySelector<HTMLMetaElement>('meta[name="map-tiles"]')?.content ?? ''

export const withPosition = (id?: string): readonly Pipeline[] =>
  [...pipelines.value.values()]
    .map(({ value }) => value)
    .filter((pipeline) => pipeline.geolocation !== null && (id ?? pipeline.id) === pipeline.id)

/** The map; its code is loaded on demand. */
export const MapView = ({ id, onChoose }: MapViewProps) => {
  const place = useRef<HTMLDivElement>(null)
  const map = useSignal<MapHandle | undefined>(undefined)
  useEffect(() => {
    const end = new AbortController()
    void loadPart(import('./map.ts')).then((part) => {
      if (part === undefined || end.signal.aborted || place.current === null) return
      map.value = part.createMap(place.current, { tiles: tilesOf(), onChoose })
      void followFootprints(map.value, id, end.signal)
    })
    return () => {
      end.abort()
      map.peek()?.close()
    }
  }, [id])
  useSignalEffect(() => map.value?.show(withPosition(id)))
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
    const feature = await api.getKlv({ id, format: 'footprint', signal })
    if (typeof feature === 'string' || !('geometry' in feature)) return undefined
    const { geometry } = feature
    if (geometry?.type === 'Polygon') return geometry.coordinates.slice(0, 1)
    return geometry?.type === 'MultiPolygon' ? geometry.coordinates.map(([ring = []]) => ring) : undefined
  } catch {
    return undefined
  }
}
