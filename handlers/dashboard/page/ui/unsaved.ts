import { effect, type Signal, signal } from '@preact/signals'
import { useState } from 'preact/hooks'

/** Unsaved input by form: it survives a login and other pages. */
const unsaved = new Map<string, Signal<unknown>>()

/** A signal of the component whose value, once changed, is still there when the form is opened again. */
export const useUnsaved = <T>(form: string, initial: T): Signal<T> => {
  const [own] = useState(() => (unsaved.get(form) as Signal<T> | undefined) ?? create(form, initial))
  return own
}

/** Its effect is no hook: hooks run some time after the form is shown, and input before that would be lost. */
const create = <T>(form: string, initial: T): Signal<T> => {
  const own = signal(initial)
  effect(() => {
    if (own.value === initial) return
    unsaved.set(form, own)
    guardLeaving()
  })
  return own
}

export const hasUnsaved = (form: string): boolean => unsaved.has(form)

/** For input that was saved or discarded. */
export const discardUnsaved = (form: string): void => {
  unsaved.delete(form)
  guardLeaving()
}

/** The next user must not see it. */
export const discardAllUnsaved = (): void => {
  unsaved.clear()
  guardLeaving()
}

/** Makes the browser ask before it closes or reloads a page with unsaved input. */
const guardLeaving = (): void => {
  if (unsaved.size > 0) addEventListener('beforeunload', askFirst)
  else removeEventListener('beforeunload', askFirst)
}

const askFirst = (event: Event): void => event.preventDefault()
