/** Loads the things of moments, one at a time: while one is on its way, only the newest moment that was asked for waits. */
export const newestOnly = <T>(
  load: (at: number, signal: AbortSignal) => Promise<T>,
  /** undefined: nothing is recorded then, or no more. */
  show: (found: T | undefined, at: number) => void,
) => {
  const end = new AbortController()
  let wanted: number | undefined
  let isLoading = false
  const run = async (): Promise<void> => {
    if (isLoading) return
    isLoading = true
    while (wanted !== undefined && !end.signal.aborted) {
      const at = wanted
      wanted = undefined
      const found = await load(at, end.signal).catch(() => undefined)
      if (!end.signal.aborted) show(found, at)
    }
    isLoading = false
  }
  return {
    want: (at: number | undefined): void => {
      wanted = at
      void run()
    },
    close: (): void => end.abort(),
  }
}
