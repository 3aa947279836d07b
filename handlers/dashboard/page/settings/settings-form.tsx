import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ApiError, api, etagOf, issuesOf, wordsOf } from '../api/api.ts'
import type { Settings } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { CheckField, SelectField, TextArea, TextField } from '../ui/field.tsx'
import { notify } from '../ui/notices.tsx'
import { discardUnsaved, useUnsaved } from '../ui/unsaved.ts'
import { useFirstMistake } from '../ui/use-first-mistake.ts'
import { type Changes, flatten, GROUPS, patchOf, SETTINGS, type Setting, typedOf, type Value } from './settings-table.ts'

interface Read {
  readonly settings: ReadonlyMap<string, Value>
  readonly etag: string | undefined
}

const FORM = 'settings'
const NO_CHANGES: Changes = new Map()

const CHANGED = 'The settings have been changed elsewhere. The new values are shown, and your changes are kept: save again.'
const MISTAKES = 'Nothing has been saved. Correct the marked fields.'

const readOf = (settings: Settings): Read => ({ settings: flatten(settings), etag: etagOf(settings) })

const useSettings = (onMistake: () => void) => {
  const read = useSignal<Read | undefined>(undefined)
  const changes = useUnsaved(FORM, NO_CHANGES)
  const issues = useSignal<ReadonlyMap<string, string>>(new Map())
  const failure = useSignal('')
  const load = async (): Promise<void> => {
    read.value = readOf(await api.getSettings())
  }
  useEffect(() => {
    load().catch((error: unknown) => {
      failure.value = wordsOf(error)
    })
  }, [])
  const save = async (): Promise<void> => {
    const sent = changes.value
    try {
      read.value = readOf(await api.changeSettings({ body: patchOf(sent), ifMatch: read.value?.etag }))
      discardUnsaved(FORM)
      // Changes made meanwhile are not saved yet.
      changes.value = without(changes.value, sent)
      issues.value = new Map()
      failure.value = ''
      notify('The settings are saved.')
    } catch (error) {
      const isLate = error instanceof ApiError && error.status === 412
      if (isLate) await load()
      issues.value = issuesOf(error)
      failure.value = isLate ? CHANGED : isShownAtFields(issues.value) ? MISTAKES : wordsOf(error)
      onMistake()
    }
  }
  return { read, changes, issues, failure, save }
}

/** A form of every setting. Only changes are sent, and refused if the settings were changed elsewhere. */
export const SettingsForm = () => {
  const { form, focusMistake } = useFirstMistake()
  const { read, changes, issues, failure, save } = useSettings(focusMistake)
  if (read.value === undefined) return failure.value === '' ? null : <p role="alert">{failure.value}</p>
  const { settings } = read.value
  return (
    <form ref={form} class="stack" noValidate onSubmit={(event) => event.preventDefault()}>
      {[...GROUPS].map(([title, list]) => (
        <section key={title} class="panel">
          <h2>{title}</h2>
          <div class="form-row form-row-wide">
            {list.map(([path, setting]) => (
              <Entry
                key={path}
                setting={setting}
                value={changes.value.get(path) ?? typedOf(settings.get(path))}
                error={issues.value.get(path)}
                onChange={(value) => {
                  changes.value = new Map(changes.value).set(path, value)
                }}
              />
            ))}
          </div>
        </section>
      ))}
      <div class="form-end">
        {failure.value !== '' && (
          <Banner>
            <p>{failure.value}</p>
          </Banner>
        )}
        <Action kind="primary" type="submit" busyText="Saving" disabled={changes.value.size === 0} run={save}>
          Save settings
        </Action>
      </div>
    </form>
  )
}

const without = (changes: Changes, saved: Changes): Changes => {
  const left = [...changes].filter(([path, value]) => saved.get(path) !== value)
  return left.length === 0 ? NO_CHANGES : new Map(left)
}

/** Whether each mistake has a field. */
const isShownAtFields = (issues: ReadonlyMap<string, string>): boolean =>
  issues.size > 0 && [...issues.keys()].every((path) => Object.hasOwn(SETTINGS, path))

interface EntryProps {
  readonly setting: Setting
  readonly value: string | boolean
  readonly error: string | undefined
  readonly onChange: (value: string | boolean) => void
}

const Entry = ({ setting, value, error, onChange }: EntryProps) => {
  const { name, unit, help, kind } = setting
  const common = { name, error, value: String(value), onInput: onChange, ...(help !== undefined && { help }) }
  if (kind === 'check') return <CheckField name={name} checked={value === true} onInput={onChange} />
  if (kind === 'list') return <TextArea {...common} />
  if (typeof kind === 'object') return <SelectField {...common} options={Object.entries(kind)} />
  return (
    <TextField
      {...common}
      {...(unit !== undefined && { unit })}
      inputMode={kind === 'number' ? 'numeric' : 'text'}
      type={kind === 'password' ? 'password' : 'text'}
      autocomplete={kind === 'password' ? 'new-password' : 'off'}
    />
  )
}
