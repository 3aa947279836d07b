/** Upper bound of the wait, milliseconds. */
const IDLE_MS = 1000
/** Safari has no requestIdleCallback. */
const PAUSE_MS = 200

/** Resolves when the page is idle, so that the picture is not delayed. */
export const whenIdle = (): Promise<void> =>
  new Promise((resolve) => {
    if (typeof requestIdleCallback === 'undefined') setTimeout(resolve, PAUSE_MS)
    else requestIdleCallback(() => resolve(), { timeout: IDLE_MS })
  })
