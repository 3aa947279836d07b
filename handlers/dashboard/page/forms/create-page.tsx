import { api } from '../api/api.ts'
import { take } from '../api/pipelines.ts'
import { Page } from '../ui/page.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'
import { bodyOf, type Draft, EMPTY_DRAFT } from './draft.ts'
import { Editor } from './editor.tsx'

const create = async (draft: Draft, start: 'wait' | 'background'): Promise<void> => {
  const pipeline = await api.createPipeline({ body: bodyOf(draft), start })
  take(pipeline)
  goTo(pipelineHref(pipeline.id))
}

/** The form for a new pipeline; `uri`: the camera it was opened for. */
export const CreatePage = ({ uri }: { readonly uri: string | undefined }) => (
  <Page title="New pipeline" isNarrow>
    <Editor
      form={`new ${uri ?? ''}`}
      draft={uri === undefined ? EMPTY_DRAFT : { ...EMPTY_DRAFT, uri, codec: 'h264' }}
      isNew
      action={(draft) => (draft.onDemand ? 'Create' : 'Create and play')}
      busyText="Starting"
      save={(draft) => create(draft, 'wait')}
      saveAnyway={(draft) => create(draft, 'background')}
      cancelHref="#/"
    />
  </Page>
)
