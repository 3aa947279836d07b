import { useSignal } from '@preact/signals'
import type { Settings } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { CheckField, PasswordField, TextField } from '../ui/field.tsx'
import { notify } from '../ui/notices.tsx'
import { discardUnsaved, useUnsaved } from '../ui/unsaved.ts'
import { useFirstMistake } from '../ui/use-first-mistake.ts'
import { type SettingsRecord, saveSettings } from './use-settings.ts'

type Webhook = Settings['webhooks'][number]
type EventName = Webhook['events'][number]

const EVENTS: Readonly<Record<EventName, string>> = {
  pipeline_status: 'State of a pipeline',
  pipeline_error: 'Faults',
  pipeline_not_found: 'A pipeline is deleted',
  camera_added: 'A camera is plugged in',
  camera_removed: 'A camera is unplugged',
  klv: 'KLV packets',
}
const NAMES = Object.keys(EVENTS) as EventName[]
const ALL_BUT_KLV = NAMES.filter((name) => name !== 'klv')
const MAX_WEBHOOKS = 8
const KEY_BYTES = 32
const FORM = 'webhooks'

const CHANGED = 'The settings have been changed elsewhere. Your webhooks are kept: save again, and they replace those that are stored.'
const isField = (path: string): boolean => /^webhooks\.\d\.(?:url|secret|events)$/.test(path)

/** undefined: as the service has them. */
type Draft = readonly Webhook[] | undefined
const UNCHANGED: Draft = undefined

const useDraft = (record: SettingsRecord, onMistake: () => void) => {
  const draft = useUnsaved<Draft>(FORM, UNCHANGED)
  const issues = useSignal<ReadonlyMap<string, string>>(new Map())
  const failure = useSignal('')
  const save = async (): Promise<void> => {
    const sent = draft.value ?? []
    const refusal = await saveSettings(record, { webhooks: [...sent] }, { changed: CHANGED, isField })
    issues.value = refusal?.issues ?? new Map()
    failure.value = refusal?.text ?? ''
    if (refusal !== undefined) return onMistake()
    discardUnsaved(FORM)
    if (draft.value === sent) draft.value = UNCHANGED
    notify('The webhooks are saved.')
  }
  return { draft, issues, failure, save }
}

/** The receivers of events. They are one list, which is saved as a whole. */
export const WebhooksPanel = ({ record, read }: { readonly record: SettingsRecord; readonly read: Settings }) => {
  const { form, focusMistake } = useFirstMistake()
  const { draft, issues, failure, save } = useDraft(record, focusMistake)
  const webhooks = draft.value ?? read.webhooks
  const change = (next: readonly Webhook[]): void => {
    draft.value = next
    issues.value = new Map()
  }
  return (
    <section class="panel" aria-labelledby="webhooks-title">
      <h2 id="webhooks-title">Webhooks</h2>
      <form ref={form} class="form-group" noValidate onSubmit={(event) => event.preventDefault()}>
        <p class="muted">
          {webhooks.length === 0 ? 'Events are sent nowhere. A webhook gets each event' : 'Each receiver gets its events'} as a signed
          request (Standard Webhooks).
        </p>
        {webhooks.map((webhook, at) => (
          <Receiver
            key={at}
            number={at + 1}
            webhook={webhook}
            errorOf={(field) => issues.value.get(`webhooks.${at}.${field}`)}
            onChange={(more) => change(webhooks.with(at, { ...webhook, ...more }))}
            onRemove={() => change(webhooks.filter((one) => one !== webhook))}
          />
        ))}
        {failure.value !== '' && (
          <Banner>
            <p>{failure.value}</p>
          </Banner>
        )}
        <div class="actions">
          <Action
            disabled={webhooks.length >= MAX_WEBHOOKS}
            run={() => change([...webhooks, { url: '', secret: newSecret(), events: ALL_BUT_KLV }])}
          >
            Add a webhook
          </Action>
          {(draft.value !== undefined || webhooks.length > 0) && (
            <Action kind="primary" type="submit" busyText="Saving" disabled={draft.value === undefined} run={save}>
              Save webhooks
            </Action>
          )}
        </div>
      </form>
    </section>
  )
}

interface ReceiverProps {
  readonly number: number
  readonly webhook: Webhook
  readonly errorOf: (field: string) => string | undefined
  readonly onChange: (more: Partial<Webhook>) => void
  readonly onRemove: () => void
}

const Receiver = ({ number, webhook, errorOf, onChange, onRemove }: ReceiverProps) => {
  const { url, secret, events } = webhook
  const toggle = (name: EventName, isWanted: boolean): void =>
    onChange({ events: NAMES.filter((one) => (one === name ? isWanted : events.includes(one))) })
  return (
    <fieldset class="webhook form-group">
      <legend>Webhook {number}</legend>
      <div class="form-row form-row-wide">
        <TextField
          name="Address"
          help="https:// or http://"
          inputMode="url"
          value={url}
          error={errorOf('url')}
          onInput={(next) => onChange({ url: next })}
        />
        <PasswordField
          name="Secret"
          help={
            secret === '***' ? 'Stored. Enter another one to replace it.' : 'Give it to the receiver, which checks the signatures with it.'
          }
          autocomplete="off"
          value={secret}
          error={errorOf('secret')}
          onInput={(next) => onChange({ secret: next })}
        />
      </div>
      <div class="webhook-events">
        {NAMES.map((name) => (
          <CheckField key={name} name={EVENTS[name]} checked={events.includes(name)} onInput={(isWanted) => toggle(name, isWanted)} />
        ))}
      </div>
      {errorOf('events') !== undefined && <p class="field-error">{errorOf('events')}</p>}
      <div class="actions">
        <Action label={`Remove webhook ${number}`} run={onRemove}>
          Remove
        </Action>
      </div>
    </fieldset>
  )
}

/** A random key, as Standard Webhooks write it. */
const newSecret = (): string => `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(KEY_BYTES))))}`
