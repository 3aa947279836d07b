import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Action } from './action.tsx'

interface ConfirmProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly action: string
  readonly busyText: string
  readonly run: () => unknown
  readonly onClose: () => void
}

/** Asks before what cannot be undone. Escape and Cancel close it. */
export const Confirm = ({ title, children, action, busyText, run, onClose }: ConfirmProps) => {
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
