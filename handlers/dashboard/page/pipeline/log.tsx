import { useEffect, useRef } from 'preact/hooks'
import { api } from '../api/api.ts'
import { Action } from '../ui/action.tsx'
import { useLoaded } from '../ui/use-loaded.ts'
import { timeText } from '../words/format.ts'

const LINES = 200

/** The output of the pipeline's processes, newest last. */
export const Log = ({ id }: { readonly id: string }) => {
  const { value: lines, failure, reload } = useLoaded(() => api.getPipelineLog({ id, limit: LINES }))
  const list = useRef<HTMLOListElement>(null)
  // The newest lines are of interest.
  useEffect(() => {
    if (list.current !== null) list.current.scrollTop = list.current.scrollHeight
  }, [lines])
  return (
    <details class="panel" onToggle={({ currentTarget }) => (currentTarget.open ? void reload() : undefined)}>
      <summary>Log</summary>
      {failure !== '' && <p class="field-error">{failure}</p>}
      {lines !== undefined && (
        <>
          <div class="actions log-actions">
            <Action icon="again" kind="quiet" run={() => reload()}>
              Refresh
            </Action>
          </div>
          {lines.length === 0 ? (
            <p class="muted">Its processes have printed nothing.</p>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
            <ol ref={list} class="log" tabIndex={0} aria-label="Lines of the log">
              {lines.map(({ at, run, stream, line }, index) => (
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
