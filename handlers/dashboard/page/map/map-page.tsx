import { loaded } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { Page } from '../ui/page.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'
import { StateLabel } from '../ui/state-label.tsx'
import { Waiting } from '../ui/waiting.tsx'
import { MapView, withPosition } from './map-view.tsx'

/** Every pipeline with a position, on a map and as a list. */
export const MapPage = () => {
  const placed = withPosition()
  if (loaded.value && placed.length === 0) return <NoPosition />
  return (
    <div class="map-page">
      <MapView onChoose={(id) => goTo(pipelineHref(id))} />
      <aside class="map-list" aria-labelledby="map-title">
        <h1 id="map-title">Map</h1>
        {!loaded.value && <Waiting />}
        <ul>
          {placed.map((pipeline) => (
            <Place key={pipeline.id} pipeline={pipeline} />
          ))}
        </ul>
      </aside>
    </div>
  )
}

const NoPosition = () => (
  <Page title="Map">
    <div class="empty">
      <p>No pipeline has a position. Set one in the form of a pipeline, or take the position from KLV.</p>
      <a class="button button-plain" href="#/">
        All pipelines
      </a>
    </div>
  </Page>
)

const Place = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, geolocation } = pipeline
  return (
    <li>
      <div class="map-place">
        <a href={pipelineHref(id)}>{id}</a>
        <StateLabel pipeline={pipeline} />
      </div>
      {geolocation !== null && <p class="muted small">{placeText(geolocation)}</p>}
    </li>
  )
}

const placeText = ({ latitude, longitude, altitude, heading }: NonNullable<Pipeline['geolocation']>): string =>
  [
    `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`,
    altitude === null || altitude === undefined ? [] : `${Math.round(altitude)} m`,
    heading === null || heading === undefined ? [] : `${Math.round(heading)}°`,
  ]
    .flat()
    .join(' · ')
