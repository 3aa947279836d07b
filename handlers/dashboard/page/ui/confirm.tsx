import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Action } from './action.tsx'
import type { IconName } from './icon.tsx'

interface ConfirmProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly action: string
  readonly busyText: string
  readonly run: () => unknown
}

interface ConfirmedActionProps extends ConfirmProps {
  /** The text of the button. */
  readonly name: string
  readonly icon?: IconName
  readonly kind?: 'danger' | 'quiet'
}

/** A button that asks for confirmation, for actions that cannot be undone. */
export const ConfirmedAction = ({ name, icon, kind = 'danger', run, ...dialog }: ConfirmedActionProps) => {
  const isAsking = useSignal(false)
  const close = (): void => {
    isAsking.value = false
  }
  return (
    <>
      <Action
        kind={kind}
        {...(icon !== undefined && { icon })}
        run={() => {
          isAsking.value = true
        }}
      >
        {name}
      </Action>
      {isAsking.value && (
        <Confirm
          {...dialog}
          run={async () => {
            await run()
            close()
          }}
          onClose={close}
        />
      )}
    </>
  )
}

/** Escape and Cancel close it. */
const Confirm = ({ title, children, action, busyText, run, onClose }: ConfirmProps & { readonly onClose: () => void }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      <div class="muted">{children}</div>
      <div class="actions dialog-actions">
        <Action run={() => dialog.current?.close()}>Cancel</Action>
        <Action kind="danger" busyText={busyText} run={run}>
          {action}
        </Action>
      </div>
    </dialog>
  )
}
