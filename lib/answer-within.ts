/**
 * Runs `work` with a signal that aborts with `signal`, or after `ms` milliseconds. Rejects with the reason of that signal when it has
 * aborted, else with the error of the work; leaves no timer and no listener behind.
 */
export const answerWithin = async <T>(ms: number, signal: AbortSignal, work: (end: AbortSignal) => Promise<T>): Promise<T> => {
  const end = new AbortController()
  const abort = (): void => end.abort(signal.reason)
  const timer = setTimeout(() => end.abort(new Error(`no answer within ${ms / 1000} s`)), ms)
  signal.addEventListener('abort', abort)
  try {
    signal.throwIfAborted()
    return await work(end.signal)
  } catch (error) {
    throw end.signal.aborted ? end.signal.reason : error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
