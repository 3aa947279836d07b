import { useSignal } from '@preact/signals'
import type { Settings } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { CheckField, PasswordField, SelectField, TextArea, TextField } from '../ui/field.tsx'
import { notify } from '../ui/notices.tsx'
import { discardUnsaved, useUnsaved } from '../ui/unsaved.ts'
import { useFirstMistake } from '../ui/use-first-mistake.ts'
import { type Changes, flatten, GROUPS, patchOf, SETTINGS, type Setting, typedOf } from './settings-table.ts'
import { type SettingsRecord, saveSettings } from './use-settings.ts'

const FORM = 'settings'
const NO_CHANGES: Changes = new Map()

const CHANGED = 'The settings have been changed elsewhere. The new values are shown, and your changes are kept: save again.'
const isField = (path: string): boolean => Object.hasOwn(SETTINGS, path)

const useChanges = (record: SettingsRecord, onMistake: () => void) => {
  const changes = useUnsaved(FORM, NO_CHANGES)
  const issues = useSignal<ReadonlyMap<string, string>>(new Map())
  const failure = useSignal('')
  const save = async (): Promise<void> => {
    const sent = changes.value
    const refusal = await saveSettings(record, patchOf(sent), { changed: CHANGED, isField })
    issues.value = refusal?.issues ?? new Map()
    failure.value = refusal?.text ?? ''
    if (refusal !== undefined) return onMistake()
    discardUnsaved(FORM)
    // Changes made meanwhile are not saved yet.
    changes.value = without(changes.value, sent)
    notify('The settings are saved.')
  }
  return { changes, issues, failure, save }
}

/** A form of every setting. Only changes are sent, and refused if the settings were changed elsewhere. */
export const SettingsForm = ({ record, read }: { readonly record: SettingsRecord; readonly read: Settings }) => {
  const { form, focusMistake } = useFirstMistake()
  const { changes, issues, failure, save } = useChanges(record, focusMistake)
  const settings = flatten(read)
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
  if (kind === 'password') return <PasswordField {...common} autocomplete="new-password" />
  return <TextField {...common} {...(unit !== undefined && { unit })} inputMode={kind === 'number' ? 'numeric' : 'text'} />
}
