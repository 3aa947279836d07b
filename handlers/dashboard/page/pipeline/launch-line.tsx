import { api } from '../api/api.ts'
import type { Pipeline } from '../api/types.ts'
import { useLoaded } from '../ui/use-loaded.ts'
import { withPlaceholders } from '../words/format.ts'
import { CopyLine } from './copy-line.tsx'

const launchOf = async (pipeline: Pipeline): Promise<string> => {
  // Pushes are not part of the line.
  const common = { ...pipeline, push: [] }
  const body =
    common.mode === 'simple'
      ? { ...common, source: { ...common.source, uri: withPlaceholders(common.source.uri) } }
      : { ...common, raw_pipeline: withPlaceholders(common.raw_pipeline) }
  const { launch } = await api.validatePipeline({ body })
  return launch
}

/** The gst-launch-1.0 line, on request: it is a call of the engine. */
export const LaunchLine = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { value: line, failure, reload } = useLoaded(() => launchOf(pipeline))
  return (
    <details class="panel" onToggle={({ currentTarget }) => (currentTarget.open ? void reload() : undefined)}>
      <summary>GStreamer line</summary>
      <p class="muted small">Paste it into a terminal of the host to find out why a source does not play.</p>
      {failure !== '' && <p class="field-error">{failure}</p>}
      {line !== undefined && <CopyLine name="gst-launch" text={line} />}
    </details>
  )
}
