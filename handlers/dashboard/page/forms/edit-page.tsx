import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api, etagOf, wordsOf } from '../api/api.ts'
import { isAtRest } from '../api/phase.ts'
import { take } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { notify } from '../ui/notices.tsx'
import { Page } from '../ui/page.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'
import { hasUnsaved } from '../ui/unsaved.ts'
import { validateDraft } from './check.ts'
import { bodyOf, type Draft, draftOf } from './draft.ts'
import { Editor } from './editor.tsx'

const CHANGED = 'This pipeline has been changed elsewhere. Open it again, and repeat your changes.'

/**
 * Replaces a pipeline, and plays it again if it was running. Positions from KLV keep changing the ETag, so `updated_at` shows
 * whether the pipeline was changed elsewhere, and If-Match covers the moment in between.
 */
const save = async (read: Pipeline, draft: Draft): Promise<void> => {
  const { id } = read
  let current = await api.getPipeline({ id })
  if (current.updated_at !== read.updated_at) throw new Error(CHANGED)
  const wasRunning = !isAtRest(current)
  if (wasRunning) {
    // A mistake must not stop the stream.
    await validateDraft(draft)
    current = await api.stopPipeline({ id })
  }
  const body = { ...bodyOf(draft), ...(draft.extractPosition && { geolocation: current.geolocation }) }
  try {
    take(await api.replacePipeline({ id, body, ifMatch: etagOf(current) }))
    goTo(pipelineHref(id))
  } finally {
    // Also when it could not be replaced.
    if (wasRunning) void playAgain(id)
  }
}

/** A notice, since the form is closed or shows why nothing was saved. */
const playAgain = async (id: string): Promise<void> => {
  try {
    take(await api.playPipeline({ id }))
  } catch (error) {
    notify(wordsOf(error), 'bad')
  }
}

/** The pipeline that unsaved input was based on, so that saving detects changes made elsewhere since. */
const lastRead = new Map<string, Pipeline>()

export const EditPage = ({ id }: { readonly id: string }) => {
  const form = `edit ${id}`
  const pipeline = useSignal(hasUnsaved(form) ? lastRead.get(id) : undefined)
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
    <Page title={`Edit ${id}`} isNarrow>
      {failure.value !== '' && <p role="alert">{failure.value}</p>}
      {value !== undefined && (
        <Editor
          key={value.updated_at}
          form={form}
          draft={draftOf(value)}
          isNew={false}
          action={() => (isAtRest(value) ? 'Save' : 'Save and restart')}
          busyText="Saving"
          save={(draft) => save(value, draft)}
          cancelHref={pipelineHref(id)}
          onDiscard={load}
        />
      )}
    </Page>
  )
}
