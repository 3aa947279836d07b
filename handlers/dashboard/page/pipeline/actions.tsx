import { useLayoutEffect, useRef } from 'preact/hooks'
import { api } from '../api/api.ts'
import { isAtRest } from '../api/phase.ts'
import { drop, take } from '../api/pipelines.ts'
import type { Pipeline } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { ConfirmedAction } from '../ui/confirm.tsx'
import { Icon } from '../ui/icon.tsx'
import { notify } from '../ui/notices.tsx'
import { goTo } from '../ui/route.ts'

/** Play or stop, edit, delete. */
export const Actions = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id, runtime } = pipeline
  const isOff = isAtRest(pipeline)
  const actions = useRef<HTMLDivElement>(null)
  const hasPressed = useRef(false)
  // Play and Stop replace each other: the focus moves to the new button.
  useLayoutEffect(() => {
    if (hasPressed.current && document.activeElement === document.body)
      actions.current?.querySelector('button')?.focus({ preventScroll: true })
    hasPressed.current = false
  }, [isOff])
  const press = (what: 'play' | 'stop'): Promise<void> => {
    hasPressed.current = true
    return change(id, what)
  }
  return (
    <div class="actions" ref={actions}>
      {isOff ? (
        <Action key="play" kind="primary" icon="play" busyText="Starting" run={() => press('play')}>
          Play
        </Action>
      ) : (
        <Action key="stop" icon="stop" busyText="Stopping" disabled={runtime.phase === 'stopping'} run={() => press('stop')}>
          Stop
        </Action>
      )}
      <a class="button button-plain" href={`#/pipeline/${id}/edit`}>
        <Icon name="edit" />
        <span>Edit</span>
      </a>
      <ConfirmedAction
        name="Delete"
        icon="trash"
        title={`Delete ${id}?`}
        action="Delete pipeline"
        busyText="Deleting"
        run={() => remove(id, isOff)}
      >
        <p>
          {isOff ? '' : 'It is stopped first, and its readers are disconnected. '}
          Its screenshots stay until you delete them.
        </p>
      </ConfirmedAction>
    </div>
  )
}

const change = async (id: string, what: 'play' | 'stop'): Promise<void> =>
  take(await (what === 'play' ? api.playPipeline({ id }) : api.stopPipeline({ id })))

const remove = async (id: string, isOff: boolean): Promise<void> => {
  if (!isOff) await change(id, 'stop')
  await api.deletePipeline({ id })
  goTo('#/')
  drop(id)
  notify(`${id} is deleted.`)
}
