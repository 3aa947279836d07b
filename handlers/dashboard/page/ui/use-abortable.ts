import { useEffect } from 'preact/hooks'

/** An effect whose work ends when the signal aborts. */
export const useAbortable = (work: (signal: AbortSignal) => void, inputs: readonly unknown[]): void =>
  useEffect(() => {
    const end = new AbortController()
    work(end.signal)
    return () => end.abort()
  }, inputs)
