import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

/** A form, and a function that moves the focus to its first field with a mistake once the mistakes are drawn. */
export const useFirstMistake = () => {
  const form = useRef<HTMLFormElement>(null)
  const failures = useSignal(0)
  useEffect(() => {
    if (failures.value > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failures.value])
  const focusMistake = (): void => {
    failures.value++
  }
  return { form, focusMistake }
}
