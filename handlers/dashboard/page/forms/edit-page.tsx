import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api, etagOf, wordsOf } from '../api/api.ts'
import { take } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { isKept } from '../ui/kept.ts'
import { notify } from '../ui/notices.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'
import { askAbout } from './check.ts'
import { bodyOf, type Draft, draftOf } from './draft.ts'
import { Editor } from './editor.tsx'

const isRunning = ({ runtime: { phase } }: Pipeline): boolean => phase !== 'idle' && phase !== 'failed'

const CHANGED = 'Somebody else has changed this pipeline meanwhile. Open it again, and make your changes to what it is now.'

/**
 * Replaces a pipeline as it was read, and lets it play again if it did. The position that comes with KLV changes all the time, and
 * the ETag with it: so `updated_at` tells whether somebody else has changed the pipeline, and If-Match guards the moment in between.
 */
const save = async (read: Pipeline, draft: Draft): Promise<void> => {
  const { id } = read
  let current = await api.getPipeline({ id })
  if (current.updated_at !== read.updated_at) throw new Error(CHANGED)
  const wasRunning = isRunning(current)
  if (wasRunning) {
    // A mistake must not cost the stream.
    await askAbout(draft)
    current = await api.stopPipeline({ id })
  }
  const body = { ...bodyOf(draft), ...(draft.extractPosition && { geolocation: current.geolocation }) }
  try {
    take(await api.replacePipeline({ id, body, ifMatch: etagOf(current) }))
    goTo(pipelineHref(id))
  } finally {
    // As it was before, if it could not be replaced.
    if (wasRunning) void playAgain(id)
  }
}

/** The form is closed by then, or says why nothing was saved. */
const playAgain = async (id: string): Promise<void> => {
  try {
    take(await api.playPipeline({ id }))
  } catch (error) {
    notify(wordsOf(error), 'bad')
  }
}

/** Unsaved text belongs to the pipeline as it was read then: what others have changed since is noticed when it is saved. */
const lastRead = new Map<string, Pipeline>()

export const EditPage = ({ id }: { readonly id: string }) => {
  const form = `edit ${id}`
  const pipeline = useSignal(isKept(form) ? lastRead.get(id) : undefined)
  const failure = useSignal('')
  const load = async (): Promise<void> => {
    try {
      const found = await api.getPipeline({ id })
      lastRead.set(id, found)
      pipeline.value = found
    } catch (error) {
      failure.value = wordsOf(error)
    }
  }
  useEffect(() => {
    if (pipeline.peek() === undefined) void load()
  }, [id])
  const { value } = pipeline
  return (
    <div class="page page-narrow">
      <div class="head">
        <h1>Edit {id}</h1>
      </div>
      {failure.value !== '' && <p role="alert">{failure.value}</p>}
      {value !== undefined && (
        <Editor
          key={value.updated_at}
          form={form}
          draft={draftOf(value)}
          isNew={false}
          action={() => (isRunning(value) ? 'Save and restart' : 'Save')}
          busyText="Saving"
          save={(draft) => save(value, draft)}
          cancelHref={pipelineHref(id)}
          onBeginAnew={load}
        />
      )}
    </div>
  )
}
