import { useSignal } from '@preact/signals'
import type { Place } from '../../../../lib/segments/place.ts'
import { loaded } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { goTo, pipelineHref } from '../ui/route.ts'
import { StateLabel } from '../ui/state-label.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { MapView, withPosition } from './map-view.tsx'
import { WhoSaw } from './who-saw.tsx'

/** Every pipeline with a position, on a map and as a list; and who saw a place. */
export const MapPage = () => {
  const placed = withPosition()
  const asked = useSignal<Place | undefined>(undefined)
  const ask = (place: Place | undefined): void => {
    asked.value = place
  }
  return (
    <div class="map-page">
      <MapView onChoose={(id) => goTo(pipelineHref(id))} onPlace={ask} place={asked.value} />
      <aside class="map-list" aria-labelledby="map-title">
        <h1 id="map-title">Map</h1>
        {!loaded.value && <Waiting />}
        {loaded.value && placed.length === 0 && (
          <p>No pipeline has a position. Set one in the form of a pipeline, or take the position from KLV.</p>
        )}
        <ul>
          {placed.map((pipeline) => (
            <Placed key={pipeline.id} pipeline={pipeline} />
          ))}
        </ul>
        <WhoSaw place={asked.value} onPlace={ask} />
      </aside>
    </div>
  )
}

const Placed = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, geolocation } = pipeline
  return (
    <li>
      <div class="map-place">
        <a href={pipelineHref(id)}>{id}</a>
        <StateLabel pipeline={pipeline} />
      </div>
      {geolocation !== null && <p class="muted small">{positionText(geolocation)}</p>}
    </li>
  )
}

const positionText = ({ latitude, longitude, altitude, heading }: NonNullable<Pipeline['geolocation']>): string =>
  [
    `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`,
    altitude === null || altitude === undefined ? [] : `${Math.round(altitude)} m`,
    heading === null || heading === undefined ? [] : `${Math.round(heading)}°`,
  ]
    .flat()
    .join(' · ')
