import { useSignal } from '@preact/signals'
import { api, wordsOf } from '../api/api.ts'
import type { Pipeline } from '../api/types.ts'
import { CopyLine } from '../ui/copy-line.tsx'
import { withPlaceholders } from '../words/format.ts'

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
  const line = useSignal('')
  const failure = useSignal('')
  const load = async ({ currentTarget }: { readonly currentTarget: HTMLDetailsElement }): Promise<void> => {
    if (!currentTarget.open) return
    try {
      line.value = await launchOf(pipeline)
      failure.value = ''
    } catch (error) {
      failure.value = wordsOf(error)
    }
  }
  return (
    <details class="panel" onToggle={load}>
      <summary>GStreamer line</summary>
      <p class="muted small">Paste it into a terminal of the host to find out why a source does not play.</p>
      {failure.value !== '' && <p class="field-error">{failure.value}</p>}
      {line.value !== '' && <CopyLine name="gst-launch" text={line.value} />}
    </details>
  )
}
