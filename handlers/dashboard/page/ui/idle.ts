/** Not later than this, however busy the page is; milliseconds. */
const IDLE_MS = 1000
/** Safari cannot tell when it is idle. */
const PAUSE_MS = 200

/** Resolves when the page has nothing better to do: what is not seen first waits until the picture is there. */
export const whenIdle = (): Promise<void> =>
  new Promise((resolve) => {
    if (typeof requestIdleCallback === 'undefined') setTimeout(resolve, PAUSE_MS)
    else requestIdleCallback(() => resolve(), { timeout: IDLE_MS })
  })
