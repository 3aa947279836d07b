/** Resolves after `ms` milliseconds, or when the signal aborts; leaves no timer and no listener behind. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })

/** The value of the promise, or undefined after `ms` milliseconds; leaves no timer behind. */
export const within = async <T>(promise: Promise<T>, ms: number): Promise<T | undefined> => {
  const settled = new AbortController()
  try {
    return await Promise.race([promise, pause(ms, settled.signal).then(() => undefined)])
  } finally {
    settled.abort()
  }
}
