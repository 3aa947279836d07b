import { api } from '../api/api.ts'
import { take } from '../api/pipelines.ts'
import { goTo, pipelineHref } from '../ui/route.ts'
import { bodyOf, type Draft, EMPTY_DRAFT } from './draft.ts'
import { Editor } from './editor.tsx'

const create = async (draft: Draft): Promise<void> => {
  const pipeline = await api.createPipeline({ body: bodyOf(draft) })
  take(pipeline)
  goTo(pipelineHref(pipeline.id))
}

/** The form for a new pipeline; a camera may have been chosen already. */
export const CreatePage = ({ uri }: { readonly uri: string | undefined }) => (
  <div class="page page-narrow">
    <div class="head">
      <h1>New pipeline</h1>
    </div>
    <Editor
      form={`new ${uri ?? ''}`}
      draft={uri === undefined ? EMPTY_DRAFT : { ...EMPTY_DRAFT, uri, codec: 'h264' }}
      isNew
      action={(draft) => (draft.onDemand ? 'Create' : 'Create and play')}
      busyText="Starting"
      save={create}
      cancelHref="#/"
    />
  </div>
)
