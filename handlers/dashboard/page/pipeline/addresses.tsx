import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { authEnabled } from '../api/session.ts'
import type { Pipeline, Settings } from '../api/types.ts'
import { CopyLine } from '../ui/copy-line.tsx'
import { whenIdle } from '../ui/idle.ts'

/** In an address, and in a line for a shell. */
const escaped = (user: string): string =>
  encodeURIComponent(user).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** The address as this browser's computer reaches it, with a place for the password where readers need one. */
const reachable = (uri: string, user: string | undefined): string => {
  const credentials = user === undefined ? '' : `${escaped(user)}:PASSWORD@`
  return uri
    .replace(/^(rtsp:\/\/)(0\.0\.0\.0|\[::\])(?=:)/, (_all, scheme: string) => `${scheme}${location.hostname}`)
    .replace('://', `://${credentials}`)
}

/** Who may read; undefined until the service has said. */
const useReaders = () => {
  const readers = useSignal<Settings['readers'] | undefined>(undefined)
  useEffect(() => {
    const load = async (): Promise<void> => {
      await whenIdle()
      readers.value = (await api.getSettings()).readers
    }
    // Without an answer the addresses are shown as they are.
    load().catch(() => {})
  }, [])
  return readers.value
}

/** Where else the video can be watched, as lines to copy. */
export const Addresses = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, output } = pipeline
  const readers = useReaders()
  const needsPassword = readers?.authentication === 'password'
  if (output === undefined)
    return (
      <section class="panel" aria-labelledby="addresses-title">
        <h2 id="addresses-title">Watch elsewhere</h2>
        <p class="muted">It has no output: name an element of its description pay0.</p>
      </section>
    )
  const rtsp = reachable(output.uri, needsPassword ? readers.username : undefined)
  const http = new URL(`../pipeline/${id}/stream.ts`, document.baseURI).href
  return (
    <section class="panel" aria-labelledby="addresses-title">
      <h2 id="addresses-title">Watch elsewhere</h2>
      <CopyLine name="RTSP" text={rtsp} />
      <CopyLine name="HTTP" text={http} />
      <CopyLine name="Browser" text={location.href} />
      <CopyLine name="ffplay" text={`ffplay -fflags nobuffer -rtsp_transport tcp ${rtsp}`} />
      <CopyLine name="VLC" text={`vlc --rtsp-tcp ${rtsp}`} />
      <CopyLine name="GStreamer" text={`gst-launch-1.0 rtspsrc location=${rtsp} protocols=tcp latency=0 ! decodebin ! autovideosink`} />
      {needsPassword && <p class="muted small">Put the password of readers, which is in the settings, in place of PASSWORD.</p>}
      {authEnabled.value === true && (
        <p class="muted small">HTTP needs the password too: players send the API key as the header X-API-Key.</p>
      )}
    </section>
  )
}
