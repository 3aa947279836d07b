import { useSignal } from '@preact/signals'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { take } from '../api/pipelines.ts'
import type { Pipeline, Screenshot } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { ConfirmedAction } from '../ui/confirm.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { Picture } from './picture.tsx'

const SHOWN = 24
const REFRESH_MS = 5000

/** Starts and stops periodic screenshots, and shows the newest. */
export const Screenshots = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, screenshots } = pipeline
  const files = useSignal<readonly Screenshot[]>()
  const isRunning = screenshots.state === 'playing'
  const load = async (signal?: AbortSignal): Promise<void> => {
    files.value = await api.listScreenshots({ pipeline_id: id, limit: SHOWN, signal })
  }
  useAbortable(
    (signal) =>
      void whileVisible(signal, async () => {
        // Without an answer the pictures stay.
        await load(signal).catch(() => {})
        return isRunning ? REFRESH_MS : undefined
      }),
    [id, isRunning],
  )
  return (
    <section class="panel" aria-labelledby="screenshots-title">
      <div class="panel-head">
        <h2 id="screenshots-title">Screenshots</h2>
        <div class="actions">{isRunning ? <Running pipeline={pipeline} /> : <Schedule pipeline={pipeline} />}</div>
      </div>
      {files.value?.length === 0 && <p class="muted">No screenshot yet. {hintOf(pipeline)}</p>}
      {files.value !== undefined && files.value.length > 0 && (
        <>
          <ul class="gallery">
            {files.value.map((file) => (
              <Picture key={file.file} file={file} onDeleted={() => load()} />
            ))}
          </ul>
          <ConfirmedAction
            name="Delete all"
            kind="quiet"
            icon="trash"
            title={`Delete all screenshots of ${id}?`}
            action="Delete screenshots"
            busyText="Deleting"
            run={async () => {
              await api.deleteScreenshots({ pipeline_id: id })
              await load()
            }}
          >
            <p>The files cannot be restored.</p>
          </ConfirmedAction>
        </>
      )}
    </section>
  )
}

const hintOf = ({ screenshots, runtime }: Pipeline): string => {
  if (screenshots.state === 'playing') return 'The first one is being taken.'
  return runtime.phase === 'playing' ? 'Start them to take one periodically.' : 'They can be taken while the pipeline plays.'
}

const Running = ({ pipeline: { id, screenshots } }: { readonly pipeline: Pipeline }) => (
  <>
    <span class="muted">one every {screenshots.interval_seconds} s</span>
    <Action icon="stop" run={async () => take(await api.stopScreenshots({ id }))}>
      Stop screenshots
    </Action>
  </>
)

const Schedule = ({ pipeline: { id, screenshots, runtime } }: { readonly pipeline: Pipeline }) => {
  /** undefined: the current interval. */
  const typed = useSignal<string>()
  const start = async (): Promise<void> => {
    const body = { interval_seconds: typed.value === undefined ? screenshots.interval_seconds : Number(typed.value) }
    take(await api.startScreenshots({ id, body }))
  }
  return (
    <>
      <label class="inline-field">
        Every
        <input
          type="number"
          min="1"
          max="86400"
          value={typed.value ?? screenshots.interval_seconds}
          aria-label="Seconds between screenshots"
          onInput={({ currentTarget }) => {
            typed.value = currentTarget.value
          }}
        />
        s
      </label>
      <Action icon="camera" disabled={runtime.phase !== 'playing'} run={start}>
        Start screenshots
      </Action>
    </>
  )
}
