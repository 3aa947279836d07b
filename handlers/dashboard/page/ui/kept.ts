import { effect, type Signal, signal } from '@preact/signals'
import { useState } from 'preact/hooks'

/** What was typed and not saved yet, by form: a login or another page in between loses nothing. */
const kept = new Map<string, Signal<unknown>>()

/** Like a signal of the component, but what differs from its beginning is still there when the form is opened again. */
export const useKept = <T>(form: string, beginning: T): Signal<T> => {
  const [own] = useState(() => (kept.get(form) as Signal<T> | undefined) ?? keeping(form, beginning))
  return own
}

/** Its effect is no hook: those begin some time after the form is shown, and whoever types sooner would lose it. */
const keeping = <T>(form: string, beginning: T): Signal<T> => {
  const own = signal(beginning)
  effect(() => {
    if (own.value === beginning) return
    kept.set(form, own)
    watchLeaving()
  })
  return own
}

export const isKept = (form: string): boolean => kept.has(form)

/** It was saved, or is not wanted any more. */
export const forgetTyped = (form: string): void => {
  kept.delete(form)
  watchLeaving()
}

/** For somebody else who logs in next. */
export const forgetAllTyped = (): void => {
  kept.clear()
  watchLeaving()
}

/** The browser asks before it closes or reloads a page with unsaved text. */
const watchLeaving = (): void => {
  if (kept.size > 0) addEventListener('beforeunload', askFirst)
  else removeEventListener('beforeunload', askFirst)
}

const askFirst = (event: Event): void => event.preventDefault()
