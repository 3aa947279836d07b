import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { now } from './api/now.ts'
import { hasVideo } from './api/phase.ts'
import { loaded, pipelines } from './api/pipelines.ts'
import type { Pipeline } from './api/types.ts'
import { LivePicture } from './player/live-picture.tsx'
import { Waiting } from './ui/waiting.tsx'
import { nextTryText } from './words/phases.ts'

/** The live picture of a pipeline and nothing else, for other screens and other pages. */
export const WatchPage = ({ id }: { readonly id: string }) => {
  const pipeline = pipelines.value.get(id)
  return (
    <main id="content" class="watch">
      <h1 class="sr-only">{id}</h1>
      {pipeline === undefined ? <Nothing /> : <Watched pipeline={pipeline.value} />}
    </main>
  )
}

const Nothing = () => <div class="player-empty">{loaded.value ? <p role="status">No pipeline has this name.</p> : <Waiting />}</div>

const Watched = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, runtime, on_demand } = pipeline
  const { phase } = runtime
  // Opening the page starts an on-demand pipeline. One that has ended since is started by its button.
  const isStarting = useSignal(true)
  const isAtWork = hasVideo(pipeline)
  useEffect(() => {
    if (isAtWork || phase === 'failed') isStarting.value = false
  }, [isAtWork, phase])
  const starts = on_demand && isStarting.value && (phase === 'idle' || phase === 'starting')
  if (isAtWork || starts) {
    const message = phase === 'reconnecting' ? `The source is away. ${nextTryText(pipeline, now.value)}` : undefined
    return <LivePicture key={id} id={id} message={message} />
  }
  const start = (): void => {
    isStarting.value = true
  }
  return (
    <div class="player-empty">
      <p role="status">{WORDS[phase]}</p>
      {on_demand && (phase === 'idle' || phase === 'failed') && (
        <button type="button" class="button button-plain" onClick={start}>
          Watch
        </button>
      )}
    </div>
  )
}

/** Without advice: a viewer may not be able to follow it. */
const WORDS: Readonly<Record<Pipeline['runtime']['phase'], string>> = {
  playing: '',
  reconnecting: '',
  starting: 'Waiting for the first picture.',
  stopping: 'The stream is being stopped.',
  idle: 'There is no picture now: the stream is stopped.',
  failed: 'There is no picture now: the stream has failed.',
}
