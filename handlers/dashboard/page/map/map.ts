import Leaflet from 'leaflet'
import type { Place } from '../../../../lib/segments/place.ts'
import type { Pipeline } from '../api/types.ts'
import { phaseWords } from '../words/phases.ts'
import { degreeText, lineDegrees } from './graticule.ts'
import { longitudeNear, turnNear } from './longitude.ts'
import { worldOutline } from './outline.ts'

/** The outer rings of the ground that a sensor sees, longitude first; two across the antimeridian. */
export type Footprint = readonly (readonly (readonly number[])[])[]

export interface MapHandle {
  /** Draws pipelines at their positions; each call extends their tracks. */
  readonly show: (pipelines: readonly Pipeline[]) => void
  /** undefined removes the footprint. */
  readonly showFootprint: (id: string, footprint: Footprint | undefined) => void
  /** Marks a place that was asked for; undefined removes the mark. */
  readonly markPlace: (place: Place | undefined) => void
  readonly close: () => void
}

interface MapOptions {
  /** Template of the URLs of tiles; '' for none. */
  readonly tiles: string
  readonly onChoose?: ((id: string) => void) | undefined
  /** A place was clicked. */
  readonly onPlace?: ((place: Place) => void) | undefined
  /** Draws where a pipeline was before. */
  readonly hasTracks?: boolean | undefined
}

/** Longest track of a pipeline, in positions. */
const MAX_TRACK = 600
const FIRST_ZOOM = 13
/** The outline of the world is exact to some kilometres. */
const OUTLINE_ZOOM = 8
/** Pixels between two lines of longitude and of latitude. The labels of longitudes are side by side. */
const LINE_SPACING = { x: 110, y: 80 }
/** A smaller change is noise. */
const SAME_DEGREES = 1e-6

type Placed = readonly [Pipeline, NonNullable<Pipeline['geolocation']>]

interface Drawn {
  readonly marker: Leaflet.Marker
  readonly track: Leaflet.Polyline
  footprint?: Leaflet.Polygon
}

/** A map of pipelines that needs no network: with a graticule, or with tiles if they are configured. */
export const createMap = (place: HTMLElement, { tiles, onChoose, onPlace, hasTracks = true }: MapOptions): MapHandle => {
  const map = openMap(place, tiles)
  const drawn = new Map<string, Drawn>()
  let isPlaced = false
  let isDragged = false
  map.on('dragstart', () => {
    isDragged = true
  })
  // By the user; before that, the map shows everything that is there.
  let isMoved = false
  for (const type of ['pointerdown', 'wheel', 'keydown'] as const)
    place.addEventListener(type, () => {
      isMoved = true
    })
  map.on('move', () => {
    for (const layers of drawn.values()) bringNear(layers, map.getCenter().lng)
  })
  if (onPlace !== undefined) map.on('click', ({ latlng }) => onPlace({ latitude: latlng.lat, longitude: longitudeNear(latlng.lng, 0) }))
  const mark = Leaflet.circleMarker([0, 0], { className: 'map-asked', interactive: false, radius: 8 })
  const observer = new ResizeObserver(() => map.invalidateSize())
  observer.observe(place)

  const draw = ([pipeline, { latitude, longitude }]: Placed, center: number): void => {
    const known = drawn.get(pipeline.id) ?? add(map, pipeline.id, [latitude, longitudeNear(longitude, center)], onChoose)
    drawn.set(pipeline.id, known)
    const at: Leaflet.LatLngTuple = [latitude, longitudeNear(longitude, known.marker.getLatLng().lng)]
    known.marker.setLatLng(at)
    turn(known.marker, pipeline)
    if (hasTracks) extend(known.track, at)
  }

  return {
    show: (pipelines) => {
      const placed = pipelines.flatMap((pipeline) => (pipeline.geolocation === null ? [] : [[pipeline, pipeline.geolocation] as const]))
      const center = isPlaced ? map.getCenter().lng : (placed[0]?.[1].longitude ?? 0)
      for (const one of placed) draw(one, center)
      removeOthers(drawn, new Set(placed.map(([{ id }]) => id)))
      if (placed.length === 0) return
      if (!isPlaced) fitAll(map, drawn)
      else if (placed.length === 1 && !isDragged) keepInView(map, drawn)
      isPlaced = true
    },
    showFootprint: (id, footprint) => {
      const layers = drawn.get(id)
      if (layers === undefined) return
      const isFirst = layers.footprint === undefined && footprint !== undefined
      drawFootprint(map, layers, footprint)
      if (isFirst && !isMoved) fitAll(map, drawn)
    },
    markPlace: (asked) => {
      if (asked === undefined) mark.remove()
      else mark.setLatLng([asked.latitude, longitudeNear(asked.longitude, map.getCenter().lng)]).addTo(map)
    },
    close: () => {
      observer.disconnect()
      map.remove()
    },
  }
}

const openMap = (place: HTMLElement, tiles: string): Leaflet.Map => {
  const map = Leaflet.map(place, { attributionControl: false, zoomControl: false, minZoom: 2, maxZoom: 20, zoomAnimation: false })
  map.setView([20, 0], 2)
  if (tiles === '') drawOutline(map)
  else Leaflet.tileLayer(tiles, { maxZoom: 20 }).addTo(map)
  // The labels of the graticule are at the top and on the left.
  Leaflet.control.scale({ imperial: false, position: 'bottomright' }).addTo(map)
  Leaflet.control.zoom({ position: 'bottomright' }).addTo(map)
  const lines = Leaflet.layerGroup().addTo(map)
  map.on('moveend', () => drawLines(map, lines))
  drawLines(map, lines)
  return map
}

/** Coasts and borders, up to the zoom at which they are too coarse. */
const drawOutline = (map: Leaflet.Map): void => {
  const outline = Leaflet.polyline(worldOutline(), { className: 'map-coast', interactive: false })
  const show = (): void => {
    if (map.getZoom() > OUTLINE_ZOOM) outline.remove()
    else outline.addTo(map).bringToBack()
  }
  map.on('zoomend', show)
  show()
}

const removeOthers = (drawn: Map<string, Drawn>, ids: ReadonlySet<string>): void => {
  for (const [id, { marker, track, footprint }] of drawn) {
    if (ids.has(id)) continue
    for (const layer of [marker, track, footprint]) layer?.remove()
    drawn.delete(id)
  }
}

const positionsOf = (drawn: ReadonlyMap<string, Drawn>): Leaflet.LatLng[] => [...drawn.values()].map(({ marker }) => marker.getLatLng())

/** With the ground that the sensors see. */
const fitAll = (map: Leaflet.Map, drawn: ReadonlyMap<string, Drawn>): void => {
  const bounds = Leaflet.latLngBounds(positionsOf(drawn))
  for (const { footprint } of drawn.values()) if (footprint !== undefined) bounds.extend(footprint.getBounds())
  map.fitBounds(bounds, { padding: [60, 60], maxZoom: FIRST_ZOOM })
}

const keepInView = (map: Leaflet.Map, drawn: ReadonlyMap<string, Drawn>): void => {
  for (const at of positionsOf(drawn)) if (!map.getBounds().contains(at)) map.panTo(at, { animate: false })
}

const drawFootprint = (map: Leaflet.Map, layers: Drawn, footprint: Footprint | undefined): void => {
  if (footprint === undefined) {
    layers.footprint?.remove()
    delete layers.footprint
    return
  }
  const corners = footprint.map((ring) => {
    const degrees = turnNear(ring, layers.marker.getLatLng().lng)
    return [ring.map(([longitude = 0, latitude = 0]): Leaflet.LatLngTuple => [latitude, longitude + degrees])]
  })
  if (layers.footprint !== undefined) layers.footprint.setLatLngs(corners)
  else layers.footprint = Leaflet.polygon(corners, { className: 'map-footprint', interactive: false }).addTo(map)
}

const add = (map: Leaflet.Map, id: string, at: Leaflet.LatLngTuple, onChoose: MapOptions['onChoose']): Drawn => {
  const html = document.createElement('span')
  html.className = 'map-arrow'
  const icon = Leaflet.divIcon({ html, className: 'map-marker', iconSize: [32, 32] })
  const marker = Leaflet.marker(at, { icon, title: id, alt: id, keyboard: onChoose !== undefined, interactive: onChoose !== undefined })
  marker.bindTooltip(id, { permanent: true, direction: 'bottom', offset: [0, 14], className: 'map-name' })
  if (onChoose !== undefined) {
    marker.on('click', () => onChoose(id))
    marker.on('keypress', ({ originalEvent: { key } }) => key === 'Enter' && onChoose(id))
  }
  return { marker: marker.addTo(map), track: Leaflet.polyline([], { className: 'map-track', interactive: false }).addTo(map) }
}

/** An arrow in the direction of the heading, or a dot without one. */
const turn = (marker: Leaflet.Marker, pipeline: Pipeline): void => {
  const arrow = marker.getElement()?.querySelector<HTMLElement>('.map-arrow')
  if (arrow === null || arrow === undefined) return
  const heading = pipeline.geolocation?.heading ?? null
  arrow.className = `map-arrow map-${phaseWords(pipeline).tone}${heading === null ? ' map-dot' : ''}`
  arrow.style.transform = heading === null ? '' : `rotate(${heading}deg)`
}

/** Moves the layers of a pipeline to the visible copy of the world. */
const bringNear = ({ marker, track, footprint }: Drawn, longitude: number): void => {
  const at = marker.getLatLng()
  const degrees = longitudeNear(at.lng, longitude) - at.lng
  if (degrees === 0) return
  const moved = ({ lat, lng }: Leaflet.LatLng): Leaflet.LatLng => Leaflet.latLng(lat, lng + degrees)
  marker.setLatLng(moved(at))
  track.setLatLngs((track.getLatLngs() as Leaflet.LatLng[]).map(moved))
  footprint?.setLatLngs((footprint.getLatLngs() as Leaflet.LatLng[][][]).map((part) => part.map((ring) => ring.map(moved))))
}

const extend = (track: Leaflet.Polyline, at: Leaflet.LatLngTuple): void => {
  const points = track.getLatLngs() as Leaflet.LatLng[]
  const last = points.at(-1)
  if (last !== undefined && Math.abs(last.lat - at[0]) < SAME_DEGREES && Math.abs(last.lng - at[1]) < SAME_DEGREES) return
  track.setLatLngs([...points, Leaflet.latLng(at)].slice(-MAX_TRACK))
}

/** Draws the graticule of the visible area, with degrees at the edge. */
const drawLines = (map: Leaflet.Map, lines: Leaflet.LayerGroup): void => {
  lines.clearLayers()
  const bounds = map.getBounds()
  const [south, north] = [Math.max(-85, bounds.getSouth()), Math.min(85, bounds.getNorth())]
  const [west, east] = [bounds.getWest(), bounds.getEast()]
  const { x, y } = map.getSize()
  const latitudes = lineDegrees(south, north, Math.max(1, y / LINE_SPACING.y))
  const longitudes = lineDegrees(west, east, Math.max(1, x / LINE_SPACING.x))
  for (const degree of latitudes.degrees) {
    addLine(lines, [
      [degree, west],
      [degree, east],
    ])
    addLabel(lines, [degree, west], degreeText(degree, latitudes.step, ['N', 'S']), 'map-label-left')
  }
  for (const degree of longitudes.degrees) {
    addLine(lines, [
      [south, degree],
      [north, degree],
    ])
    const wrapped = ((((degree + 180) % 360) + 360) % 360) - 180
    addLabel(lines, [north, degree], degreeText(wrapped, longitudes.step, ['E', 'W']), 'map-label-top')
  }
}

const addLine = (lines: Leaflet.LayerGroup, points: Leaflet.LatLngTuple[]): void => {
  lines.addLayer(Leaflet.polyline(points, { className: 'map-line', interactive: false, noClip: true }))
}

const addLabel = (lines: Leaflet.LayerGroup, at: Leaflet.LatLngTuple, text: string, className: string): void => {
  const html = document.createElement('span')
  html.textContent = text
  const icon = Leaflet.divIcon({ html, className: `map-label ${className}`, iconSize: [0, 0] })
  lines.addLayer(Leaflet.marker(at, { icon, interactive: false, keyboard: false }))
}
