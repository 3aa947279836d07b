import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { api, wordsOf } from '../api/api.ts'
import type { LogLine } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { timeText } from '../words/format.ts'

const LINES = 200

/** The output of the pipeline's processes, newest last. */
export const Log = ({ id }: { readonly id: string }) => {
  const lines = useSignal<readonly LogLine[] | undefined>(undefined)
  const failure = useSignal('')
  const list = useRef<HTMLOListElement>(null)
  // The newest lines are of interest.
  useEffect(() => {
    if (list.current !== null) list.current.scrollTop = list.current.scrollHeight
  }, [lines.value])
  const load = async (): Promise<void> => {
    try {
      lines.value = await api.getPipelineLog({ id, limit: LINES })
      failure.value = ''
    } catch (error) {
      failure.value = wordsOf(error)
    }
  }
  return (
    <details class="panel" onToggle={({ currentTarget }) => (currentTarget.open ? void load() : undefined)}>
      <summary>Log</summary>
      {failure.value !== '' && <p class="field-error">{failure.value}</p>}
      {lines.value !== undefined && (
        <>
          <div class="actions log-actions">
            <Action icon="again" kind="quiet" run={load}>
              Refresh
            </Action>
          </div>
          {lines.value.length === 0 ? (
            <p class="muted">Its processes have printed nothing.</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            <ol ref={list} class="log" tabIndex={0} aria-label="Lines of the log">
              {lines.value.map(({ at, run, stream, line }, index) => (
                <li key={`${at} ${index}`} class={stream === 'stderr' ? 'log-error' : ''}>
                  <span class="log-time">
                    <bdi>{timeText(at)}</bdi> <span title={`Run ${run}`}>#{run}</span>
                  </span>
                  <code>{line}</code>
                </li>
              ))}
            </ol>
          )}
        </>
      )}
    </details>
  )
}
