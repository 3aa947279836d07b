import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Place } from '../../../../lib/segments/place.ts'
import type { Pipeline } from '../api/types.ts'
import { loadPart } from '../api/upgrade.ts'
import type { Footprint, MapHandle } from './map.ts'
import { tilesOf } from './map-view.tsx'

interface MomentMapProps {
  /** With the position that it had. */
  readonly pipeline: Pipeline
  readonly footprint: Footprint | undefined
  /** A place to mark. */
  readonly place: Place | undefined
  readonly onPlace: (place: Place) => void
}

/** Where a pipeline was at a moment, and what its sensor saw. */
export const MomentMap = ({ pipeline, footprint, place, onPlace }: MomentMapProps) => {
  const frame = useRef<HTMLDivElement>(null)
  const map = useSignal<MapHandle | undefined>(undefined)
  useEffect(() => {
    const end = new AbortController()
    void loadPart(import('./map.ts')).then((part) => {
      if (part === undefined || end.signal.aborted || frame.current === null) return
      map.value = part.createMap(frame.current, { tiles: tilesOf(), onPlace, hasTracks: false })
    })
    return () => {
      end.abort()
      map.peek()?.close()
    }
  }, [])
  const shown = map.value
  useEffect(() => {
    shown?.show([pipeline])
    shown?.showFootprint(pipeline.id, footprint)
  }, [shown, pipeline, footprint])
  useEffect(() => shown?.markPlace(place), [shown, place])
  return <section ref={frame} class="map" aria-label="Map of this moment" />
}
