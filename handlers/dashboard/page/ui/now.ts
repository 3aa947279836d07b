import { signal } from '@preact/signals'

/** Milliseconds since the epoch, of this second; who reads it is drawn again when it changes. */
export const now = signal(Date.now())

setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1000)
