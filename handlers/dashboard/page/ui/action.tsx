import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { wordsOf } from '../api/api.ts'
import { Icon, type IconName } from './icon.tsx'
import { notify } from './notices.tsx'

/** Progress is shown after this time. */
const SHOW_AFTER_MS = 200

interface ActionProps {
  readonly children: ComponentChildren
  readonly icon?: IconName
  readonly kind?: 'primary' | 'plain' | 'danger' | 'quiet'
  /** Replaces the text while it runs, such as `Starting`. */
  readonly busyText?: string
  readonly disabled?: boolean
  readonly label?: string
  readonly type?: 'button' | 'submit'
  readonly run?: () => unknown
}

/** A button that shows the progress of its work, and a failure as a notice. */
export const Action = ({ children, icon, kind = 'plain', busyText, disabled, label, type = 'button', run }: ActionProps) => {
  const running = useSignal(false)
  const seconds = useSignal<number | undefined>(undefined)
  const mounted = useRef(true)
  useEffect(
    () => () => {
      mounted.current = false
    },
    [],
  )
  const press = async (): Promise<void> => {
    if (running.value || run === undefined) return
    running.value = true
    const began = performance.now()
    const tick = setInterval(() => {
      seconds.value = Math.floor((performance.now() - began) / 1000)
    }, SHOW_AFTER_MS)
    try {
      await run()
    } catch (error) {
      notify(wordsOf(error), 'bad')
    } finally {
      clearInterval(tick)
      if (mounted.current) {
        running.value = false
        seconds.value = undefined
      }
    }
  }
  const isSlow = seconds.value !== undefined
  return (
    <button
      type={type}
      class={`button button-${kind}`}
      disabled={disabled}
      aria-busy={running.value}
      aria-label={label}
      title={label}
      onClick={press}
    >
      {isSlow ? <Icon name="wait" /> : icon !== undefined && <Icon name={icon} />}
      <span>{isSlow && busyText !== undefined ? `${busyText}${seconds.value ? ` ${seconds.value} s` : '…'}` : children}</span>
    </button>
  )
}
