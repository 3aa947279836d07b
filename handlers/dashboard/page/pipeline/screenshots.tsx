import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../api/api.ts'
import { sleep, untilVisible } from '../api/follow.ts'
import { take } from '../api/pipelines.ts'
import type { Pipeline, Screenshot } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Picture } from './picture.tsx'

const SHOWN = 24
const REFRESH_MS = 5000
const WHEN = { plays: 'Start them to get a picture now and then.', rests: 'They can be taken while it plays.' } as const

/** Starts and stops periodic screenshots, and shows the newest. */
export const Screenshots = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, screenshots, runtime } = pipeline
  const files = useSignal<readonly Screenshot[] | undefined>(undefined)
  const isAsking = useSignal(false)
  /** What was typed; until then, the interval that is in force. */
  const typed = useSignal<string | undefined>(undefined)
  const isRunning = screenshots.state === 'playing'
  const load = async (signal?: AbortSignal): Promise<void> => {
    files.value = await api.listScreenshots({ pipeline_id: id, limit: SHOWN, signal })
  }
  useEffect(() => {
    const end = new AbortController()
    void keepLoading(load, isRunning, end.signal)
    return () => end.abort()
  }, [id, isRunning])
  const start = async (): Promise<void> => {
    const body = { interval_seconds: typed.value === undefined ? screenshots.interval_seconds : Number(typed.value) }
    take(await api.startScreenshots({ id, body }))
  }
  return (
    <section class="panel" aria-labelledby="screenshots-title">
      <div class="panel-head">
        <h2 id="screenshots-title">Screenshots</h2>
        <div class="actions">
          {isRunning ? (
            <>
              <span class="muted">one every {screenshots.interval_seconds} s</span>
              <Action icon="stop" run={async () => take(await api.stopScreenshots({ id }))}>
                Stop screenshots
              </Action>
            </>
          ) : (
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
          )}
        </div>
      </div>
      {files.value !== undefined && files.value.length === 0 && (
        <p class="muted">
          No screenshot yet. {isRunning ? 'The first one is on its way.' : WHEN[runtime.phase === 'playing' ? 'plays' : 'rests']}
        </p>
      )}
      {files.value !== undefined && files.value.length > 0 && (
        <>
          <ul class="gallery">
            {files.value.map((file) => (
              <Picture key={file.file} file={file} onDeleted={() => load()} />
            ))}
          </ul>
          <Action
            kind="quiet"
            icon="trash"
            run={() => {
              isAsking.value = true
            }}
          >
            Delete all
          </Action>
        </>
      )}
      {isAsking.value && (
        <Confirm
          title={`Delete all screenshots of ${id}?`}
          action="Delete screenshots"
          busyText="Deleting"
          run={async () => {
            await api.deleteScreenshots({ pipeline_id: id })
            isAsking.value = false
            await load()
          }}
          onClose={() => {
            isAsking.value = false
          }}
        >
          <p>The files cannot be brought back.</p>
        </Confirm>
      )}
    </section>
  )
}

const keepLoading = async (load: (signal: AbortSignal) => Promise<void>, again: boolean, signal: AbortSignal): Promise<void> => {
  do {
    await untilVisible(signal)
    // Without an answer the pictures of before stay.
    await load(signal).catch(() => {})
    await sleep(REFRESH_MS, signal)
  } while (again && !signal.aborted)
}
