import { signal } from '@preact/signals'
import { createServiceClock } from '../../../client/service-clock.ts'

/** Of the host: a browser elsewhere may have another time. */
export const serviceClock = createServiceClock()

/** Milliseconds since the epoch on the host, of this second; who reads it is drawn again when it changes. */
export const now = signal(serviceClock.now())

setInterval(() => {
  if (!document.hidden) now.value = serviceClock.now()
}, 1000)
