import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { readerAddress } from '../../../client/reader-address.ts'
import { api } from '../api/api.ts'
import { authEnabled } from '../api/session.ts'
import type { Pipeline, Settings } from '../api/types.ts'
import { CopyLine } from './copy-line.tsx'
import { whenIdle } from './idle.ts'

/** Escapes a user name for a URL in a shell command. */
const escaped = (user: string): string =>
  encodeURIComponent(user).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)

/** The address as the computer of this browser reaches it, with a placeholder if readers need a password. */
const reachable = (uri: string, user: string | undefined): string => {
  const credentials = user === undefined ? '' : `${escaped(user)}:PASSWORD@`
  return readerAddress(uri, location.hostname).replace('://', `://${credentials}`)
}

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
      {needsPassword && <p class="muted small">Put the reader password of the settings in place of PASSWORD.</p>}
      {authEnabled.value === true && (
        <p class="muted small">HTTP needs authentication too: players send the API key in the header X-API-Key.</p>
      )}
    </section>
  )
}
