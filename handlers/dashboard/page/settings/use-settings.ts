import { type Signal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError, api, etagOf, issuesOf, wordsOf } from '../api/api.ts'
import type { Settings } from '../api/types.ts'

/** The settings as the service last answered them, for every form of the page: its ETag is that of all of them. */
export interface SettingsRecord {
  readonly value: Signal<Settings | undefined>
  /** Why they could not be read. */
  readonly failure: Signal<string>
  readonly load: () => Promise<void>
}

export const useSettings = (): SettingsRecord => {
  const value = useSignal<Settings | undefined>(undefined)
  const failure = useSignal('')
  const load = async (): Promise<void> => {
    value.value = await api.getSettings()
  }
  useEffect(() => {
    load().catch((error: unknown) => {
      failure.value = wordsOf(error)
    })
  }, [])
  return { value, failure, load }
}

/** What a refused change says. */
interface Refusal {
  /** By the path of the field. */
  readonly issues: ReadonlyMap<string, string>
  readonly text: string
}

const MISTAKES = 'Nothing has been saved. Correct the marked fields.'

/** Changes settings, unless they were changed elsewhere since they were read. Answers the refusal; undefined when they are saved. */
export const saveSettings = async (
  { value, load }: SettingsRecord,
  body: Parameters<typeof api.changeSettings>[0]['body'],
  words: { readonly changed: string; readonly isField: (path: string) => boolean },
): Promise<Refusal | undefined> => {
  const read = value.value
  try {
    value.value = await api.changeSettings({ body, ifMatch: read && etagOf(read) })
    return undefined
  } catch (error) {
    const isLate = error instanceof ApiError && error.status === 412
    if (isLate) await load()
    const issues = issuesOf(error)
    const isShownAtFields = issues.size > 0 && [...issues.keys()].every(words.isField)
    return { issues, text: isLate ? words.changed : isShownAtFields ? MISTAKES : wordsOf(error) }
  }
}
