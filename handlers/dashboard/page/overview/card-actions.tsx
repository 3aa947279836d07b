import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { play, remove, savePicture, stop } from '../api/commands.ts'
import { hasVideo, isAtRest } from '../api/phase.ts'
import type { Pipeline } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { ConfirmedAction } from '../ui/confirm.tsx'
import { Icon } from '../ui/icon.tsx'
import { notify } from '../ui/notices.tsx'

/** Play or stop, and a menu, on the card of a pipeline. */
export const CardActions = ({ pipeline }: { readonly pipeline: Pipeline }) => {
  const { id } = pipeline
  const isOff = isAtRest(pipeline)
  return (
    <div class="card-actions">
      <Action
        kind="quiet"
        icon={isOff ? 'play' : 'stop'}
        label={`${isOff ? 'Play' : 'Stop'} ${id}`}
        // Not disabled while it stops: the button would lose the focus.
        run={() => (isOff ? play(id) : stop(id))}
      >
        {''}
      </Action>
      <Menu name={`More for ${id}`}>
        <a class="button button-quiet" href={`#/pipeline/${id}/edit`}>
          <Icon name="edit" />
          <span>Edit</span>
        </a>
        {hasVideo(pipeline) && (
          <Action kind="quiet" icon="down" busyText="Saving" run={() => savePicture(id)}>
            Save picture
          </Action>
        )}
        <ConfirmedAction
          name="Delete"
          kind="quiet"
          icon="trash"
          title={`Delete ${id}?`}
          action="Delete pipeline"
          busyText="Deleting"
          run={async () => {
            await remove(id, isOff)
            notify(`${id} is deleted.`)
          }}
        >
          <p>{isOff ? '' : 'It is stopped first, and its readers are disconnected. '}Its screenshots stay until you delete them.</p>
        </ConfirmedAction>
      </Menu>
    </div>
  )
}

/** A button that opens a menu below it. Escape and a click beside it close it. */
const Menu = ({ name, children }: { readonly name: string; readonly children: ComponentChildren }) => {
  const isOpen = useSignal(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button button-quiet"
        aria-label={name}
        title={name}
        aria-haspopup="dialog"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = true
        }}
      >
        <Icon name="more" />
      </button>
      {isOpen.value && (
        <OpenMenu
          name={name}
          below={button.current}
          onClose={() => {
            isOpen.value = false
          }}
        >
          {children}
        </OpenMenu>
      )}
    </>
  )
}

interface OpenMenuProps {
  readonly name: string
  readonly below: Element | null
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** In the top layer, since a card clips what is in it. */
const OpenMenu = ({ name, below, onClose, children }: OpenMenuProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const own = dialog.current
    if (own === null) return
    own.showModal()
    const { right = 0, bottom = 0, top = 0 } = below?.getBoundingClientRect() ?? {}
    const fits = bottom + own.offsetHeight <= innerHeight
    own.style.left = `${Math.max(8, right - own.offsetWidth)}px`
    own.style.top = `${fits ? bottom : Math.max(8, top - own.offsetHeight)}px`
    const close = (): void => own.close()
    const end = new AbortController()
    addEventListener('resize', close, end)
    // What is beside it belongs to the dialog.
    own.addEventListener('click', ({ target }) => target === own && close(), end)
    return () => end.abort()
  }, [])
  return (
    <dialog ref={dialog} class="menu" aria-label={name} onClose={onClose}>
      {children}
    </dialog>
  )
}
