import type { Pipeline } from '../api/types.ts'
import { CopyLine } from '../ui/copy-line.tsx'

/** The address as this browser's computer reaches it. */
const reachable = (uri: string): string =>
  uri.replace(/^(rtsp:\/\/)(0\.0\.0\.0|\[::\])(?=:)/, (_all, scheme: string) => `${scheme}${location.hostname}`)

/** Where else the video can be watched, as lines to copy. */
export const Addresses = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, output } = pipeline
  if (output === undefined)
    return (
      <section class="panel" aria-labelledby="addresses-title">
        <h2 id="addresses-title">Watch elsewhere</h2>
        <p class="muted">It has no output: name an element of its description pay0.</p>
      </section>
    )
  const rtsp = reachable(output.uri)
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
    </section>
  )
}
