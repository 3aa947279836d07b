import { useLayoutEffect, useRef } from 'preact/hooks'
import { play, remove, stop } from '../api/commands.ts'
import { isAtRest } from '../api/phase.ts'
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
  const press = (command: typeof play): Promise<void> => {
    hasPressed.current = true
    return command(id)
  }
  return (
    <div class="actions" ref={actions}>
      {isOff ? (
        <Action key="play" kind="primary" icon="play" busyText="Starting" run={() => press(play)}>
          Play
        </Action>
      ) : (
        <Action key="stop" icon="stop" busyText="Stopping" disabled={runtime.phase === 'stopping'} run={() => press(stop)}>
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
        run={async () => {
          await remove(id, isOff, () => goTo('#/'))
          notify(`${id} is deleted.`)
        }}
      >
        <p>
          {isOff ? '' : 'It is stopped first, and its readers are disconnected. '}
          Its screenshots stay until you delete them.
        </p>
      </ConfirmedAction>
    </div>
  )
}
