import { signal } from '@preact/signals'
import { createServiceClock } from '../../../client/service-clock.ts'

/** The clock of the host, which may differ from that of the browser. */
export const serviceClock = createServiceClock()

/** Milliseconds since the epoch on the host, updated every second. */
export const now = signal(serviceClock.now())

setInterval(() => {
  if (!document.hidden) now.value = serviceClock.now()
}, 1000)
