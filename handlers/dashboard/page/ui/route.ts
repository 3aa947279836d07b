import { signal } from '@preact/signals'

/** The route is in the hash, so that it works behind any reverse proxy and prefix. */
export type Route =
  | { readonly page: 'overview' }
  | { readonly page: 'create'; readonly uri: string | undefined }
  | { readonly page: 'pipeline'; readonly id: string }
  | { readonly page: 'edit'; readonly id: string }
  | { readonly page: 'map' }
  | { readonly page: 'cameras' }
  | { readonly page: 'settings' }

const PIPELINE = /^#\/pipeline\/([a-zA-Z0-9_-]{1,64})(\/edit)?$/

const routeOf = (hash: string): Route => {
  const [, id, edit] = PIPELINE.exec(hash) ?? []
  if (id !== undefined) return { page: edit === undefined ? 'pipeline' : 'edit', id }
  const [, query] = /^#\/new(?:\?(.*))?$/.exec(hash) ?? [undefined, undefined]
  if (hash === '#/new' || query !== undefined) return { page: 'create', uri: new URLSearchParams(query).get('uri') ?? undefined }
  if (hash === '#/map' || hash === '#/cameras' || hash === '#/settings') return { page: hash.slice(2) as 'map' }
  return { page: 'overview' }
}

export const route = signal(routeOf(location.hash))

export const pipelineHref = (id: string): string => `#/pipeline/${id}`

export const goTo = (hash: string): void => {
  location.hash = hash
}

window.addEventListener('hashchange', () => {
  route.value = routeOf(location.hash)
  window.scrollTo(0, 0)
})
