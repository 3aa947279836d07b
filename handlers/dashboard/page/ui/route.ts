import { signal } from '@preact/signals'
import { type Place, placeText, readPlace } from '../../../../lib/segments/place.ts'

/** A moment of a recording, milliseconds since the epoch, and the place that was looked for in it. */
export interface Moment {
  readonly at: number
  readonly place: Place | undefined
}

/** The route is in the hash, so that it works behind any reverse proxy and prefix. */
export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'create'; readonly uri: string | undefined }
  /** `moment`: of its recording. */
  | { readonly page: 'pipeline'; readonly id: string; readonly moment?: Moment }
  | { readonly page: 'edit'; readonly id: string }
  /** The picture only. */
  | { readonly page: 'watch'; readonly id: string }
  | { readonly page: 'wall' }
  /** Of the fleet. */
  | { readonly page: 'hosts' }
  | { readonly page: 'host'; readonly id: string }
  | { readonly page: 'map' }
  | { readonly page: 'log' }
  | { readonly page: 'cameras' }
  | { readonly page: 'settings' }

const PIPELINE = /^#\/pipeline\/([a-zA-Z0-9_-]{1,64})(\/edit|\?.*)?$/

const WATCH = /^#\/watch\/([a-zA-Z0-9_-]{1,64})$/

const HOST = /^#\/hosts\/([a-zA-Z0-9_-]{1,64})$/

const routeOf = (hash: string): Route => {
  const [, id, rest = ''] = PIPELINE.exec(hash) ?? []
  if (id !== undefined) return rest === '/edit' ? { page: 'edit', id } : { page: 'pipeline', id, ...momentOf(rest) }
  const [, watched] = WATCH.exec(hash) ?? []
  if (watched !== undefined) return { page: 'watch', id: watched }
  const [, host] = HOST.exec(hash) ?? []
  if (host !== undefined) return { page: 'host', id: host }
  const [, query] = /^#\/new(?:\?(.*))?$/.exec(hash) ?? [undefined, undefined]
  if (hash === '#/new' || query !== undefined) return { page: 'create', uri: new URLSearchParams(query).get('uri') ?? undefined }
  const [, plain] = /^#\/(wall|map|hosts|log|cameras|settings)$/.exec(hash) ?? []
  if (plain !== undefined) return { page: plain as 'map' }
  return { page: 'overview' }
}

const momentOf = (query: string): { readonly moment?: Moment } => {
  const values = new URLSearchParams(query)
  const at = Date.parse(values.get('at') ?? '')
  return Number.isNaN(at) ? {} : { moment: { at, place: readPlace(values.get('covers') ?? '') } }
}

export const route = signal(routeOf(location.hash))

export const pipelineHref = (id: string): string => `#/pipeline/${id}`

export const hostHref = (name: string): string => `#/hosts/${name}`

/** `at`: RFC 3339. */
export const momentHref = (id: string, at: string, place: Place): string =>
  `${pipelineHref(id)}?${new URLSearchParams({ at, covers: placeText(place) })}`

export const watchHref = (id: string): string => `#/watch/${id}`

export const goTo = (hash: string): void => {
  location.hash = hash
}

window.addEventListener('hashchange', () => {
  route.value = routeOf(location.hash)
  window.scrollTo(0, 0)
})
