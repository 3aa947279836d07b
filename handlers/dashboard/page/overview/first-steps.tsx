import { api } from '../api/api.ts'
import { take } from '../api/pipelines.ts'
import { Action } from '../ui/action.tsx'
import { Icon } from '../ui/icon.tsx'
import { goTo, pipelineHref } from '../ui/route.ts'

const TEST = { id: 'first', mode: 'simple', source: { uri: 'test://ball?width=1280&height=720&klv=1' } } as const

const createTest = async (): Promise<void> => {
  take(await api.createPipeline({ body: TEST }))
  goTo(pipelineHref(TEST.id))
}

export const NewPipeline = () => (
  <a class="button button-primary" href="#/new">
    <Icon name="plus" />
    <span>New pipeline</span>
  </a>
)

/** Shown while there is no pipeline. */
export const FirstSteps = () => (
  <div class="page">
    <section class="welcome">
      <h1>See your first stream</h1>
      <p class="lead">
        A pipeline reads video from a source (a network camera, a drone feed, a camera of this host) and serves it to many readers. It is
        shown here live.
      </p>
      <div class="actions">
        <NewPipeline />
        <a class="button button-plain" href="#/cameras">
          <Icon name="search" />
          <span>Find cameras</span>
        </a>
        <Action icon="play" busyText="Starting" run={createTest}>
          Try a test picture
        </Action>
      </div>
      <p class="muted">The test picture needs no camera: this host generates it and serves it like any other source.</p>
    </section>
  </div>
)
