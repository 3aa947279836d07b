import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'

const SHOWN_MS = 2000

interface CopyLineProps {
  readonly name: string
  readonly text: string
}

/** A line to copy. Over plain http from another host, a browser copies only a selection, so the line is selected. */
export const CopyLine = ({ name, text }: CopyLineProps) => {
  const done = useSignal('')
  const line = useRef<HTMLElement>(null)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      done.value = 'Copied'
    } catch {
      if (line.current !== null) getSelection()?.selectAllChildren(line.current)
      done.value = document.execCommand('copy') ? 'Copied' : 'Selected: press Ctrl+C'
    }
    setTimeout(() => {
      done.value = ''
    }, SHOWN_MS)
  }
  return (
    <div class="copy-line">
      <span class="copy-name">{name}</span>
      <code ref={line}>{text}</code>
      <button type="button" class="button button-quiet" aria-label={`Copy the line for ${name}`} onClick={copy}>
        <Icon name="copy" />
        <span aria-live="polite">{done.value}</span>
      </button>
    </div>
  )
}
