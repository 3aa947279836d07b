import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { authEnabled } from '../api/session.ts'
import type { Pipeline, Settings } from '../api/types.ts'
import { watchHref } from '../ui/route.ts'
import { CopyLine } from './copy-line.tsx'
import { whenIdle } from './idle.ts'
import { isLoopback, shareLines, watchLines } from './watch-lines.ts'

const tls = document.querySelector<HTMLMetaElement>('meta[name="output-tls"]')?.content ?? 'off'

/** The settings of readers; undefined until they are loaded. */
const useReaders = () => {
  const readers = useSignal<Settings['readers'] | undefined>(undefined)
  useEffect(() => {
    const load = async (): Promise<void> => {
      await whenIdle()
      readers.value = (await api.getSettings()).readers
    }
    // Without an answer the addresses are shown without credentials.
    load().catch(() => {})
  }, [])
  return readers.value
}

/** Addresses and commands to watch the video elsewhere. */
export const Addresses = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, output } = pipeline
  const readers = useReaders()
  const needsPassword = readers?.authentication === 'password'
  if (output === undefined)
    return (
      <section class="panel" aria-labelledby="addresses-title">
        <h2 id="addresses-title">Watch elsewhere</h2>
        <p class="muted">It has no output. Name an element of its description pay0.</p>
      </section>
    )
  const needsKey = authEnabled.value === true
  const lines = watchLines({
    id,
    output: output.uri,
    page: location.href,
    stream: new URL(`../pipeline/${id}/stream.ts`, document.baseURI).href,
    playlist: new URL(`../pipeline/${id}/live.m3u8`, document.baseURI).href,
    host: location.hostname,
    user: needsPassword ? readers.username : undefined,
    tls,
    needsKey,
  })
  return (
    <section class="panel" aria-labelledby="addresses-title">
      <h2 id="addresses-title">Watch elsewhere</h2>
      {lines.map(([name, text]) => (
        <CopyLine key={name} name={name} text={text} />
      ))}
      {isLoopback(location.hostname) && (
        <p class="muted small">On other computers, put the name of this host in place of {location.hostname}.</p>
      )}
      {needsPassword && <p class="muted small">Put the reader password of the settings in place of PASSWORD.</p>}
      {needsKey && <p class="muted small">HTTP and HLS need the API key of the service, in place of KEY.</p>}
    </section>
  )
}

/** The picture alone, for other people and other pages. */
export const Share = ({ id }: { readonly id: string }) => (
  <section class="panel" aria-labelledby="share-title">
    <h2 id="share-title">Share the picture</h2>
    {shareLines(new URL(watchHref(id), document.baseURI).href).map(([name, text]) => (
      <CopyLine key={name} name={name} text={text} />
    ))}
    <p class="muted small">
      No other page may frame it, of whatever origin, until a reverse proxy in front of the service names the origins that may.
    </p>
    {authEnabled.value === true && <p class="muted small">Whoever opens it has to log in, and may then change pipelines too.</p>}
  </section>
)
