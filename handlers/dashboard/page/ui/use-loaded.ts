import { useSignal } from '@preact/signals'
import { wordsOf } from '../api/api.ts'

/** A value that `reload` loads, or why that failed; '' without a failure. */
export const useLoaded = <T>(load: (signal?: AbortSignal) => Promise<T>) => {
  const value = useSignal<T | undefined>(undefined)
  const failure = useSignal('')
  const reload = async (signal?: AbortSignal): Promise<void> => {
    try {
      value.value = await load(signal)
      failure.value = ''
    } catch (error) {
      if (signal?.aborted !== true) failure.value = wordsOf(error)
    }
  }
  return { value: value.value, failure: failure.value, reload }
}
