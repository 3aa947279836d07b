import { useSignal, useSignalEffect } from '@preact/signals'
import { ApiError, issuesOf, wordsOf } from '../api/api.ts'
import { Action } from '../ui/action.tsx'
import { Banner } from '../ui/banner.tsx'
import { TextArea, TextField } from '../ui/field.tsx'
import { discardUnsaved, hasUnsaved, useUnsaved } from '../ui/unsaved.ts'
import { useFirstMistake } from '../ui/use-first-mistake.ts'
import { checkDraft, NO_MISTAKES, type Verdict, verdictOf } from './check.ts'
import type { Draft } from './draft.ts'
import { EncodingFields } from './encoding-fields.tsx'
import type { FieldsProps } from './fields-props.ts'
import { OptionFields } from './option-fields.tsx'
import { PositionFields } from './position-fields.tsx'
import { SourceField } from './source-field.tsx'
import { TestPanel } from './test-panel.tsx'

interface EditorProps {
  /** Unsaved input is kept under this name while the form is closed. */
  readonly form: string
  readonly draft: Draft
  readonly isNew: boolean
  readonly action: (draft: Draft) => string
  readonly busyText: string
  readonly save: (draft: Draft) => Promise<void>
  /** Saves a pipeline whose source did not start. */
  readonly saveAnyway?: (draft: Draft) => Promise<void>
  readonly cancelHref: string
  /** Called when unsaved input is discarded. */
  readonly onDiscard?: () => unknown
}

/** The form of a pipeline. The API checks it during input, and mistakes are shown beside their fields. */
export const Editor = (props: EditorProps) => {
  const { form: name, isNew, action, busyText, cancelHref, save, saveAnyway } = props
  const { form, focusMistake } = useFirstMistake()
  const { draft, fields, message, hasNotStarted, discard, submit } = useDraft(props, focusMistake)
  return (
    <form ref={form} class="form" noValidate onSubmit={(event) => event.preventDefault()}>
      {discard !== undefined && (
        <p class="muted small" role="status">
          Your unsaved input has been restored.{' '}
          <button type="button" class="link" onClick={discard}>
            Discard it
          </button>
        </p>
      )}
      {isNew && <ModeChoice {...fields} />}
      <section class="panel form-group">
        <TextField
          name="Name"
          help={isNew ? 'Letters, digits, dashes and underscores. It is part of the address of the stream.' : 'It cannot be changed.'}
          value={draft.id}
          error={fields.errorOf('id')}
          onInput={(id) => fields.set({ id })}
          onTouched={fields.touch('id')}
          readOnly={!isNew}
        />
        {draft.mode === 'simple' ? <SourceField {...fields} isNew={isNew} /> : <DescriptionField {...fields} />}
        <TestPanel draft={draft} />
      </section>
      {draft.mode === 'simple' && <EncodingFields {...fields} />}
      <OptionFields {...fields} />
      <PositionFields {...fields} />
      <div class="form-end">
        {message !== '' && <Failure message={message} canSaveAnyway={hasNotStarted && saveAnyway !== undefined} />}
        <div class="actions">
          <Action kind="primary" type="submit" busyText={busyText} run={() => submit(save)}>
            {action(draft)}
          </Action>
          {hasNotStarted && saveAnyway !== undefined && (
            <Action busyText="Saving" run={() => submit(saveAnyway)}>
              Save anyway
            </Action>
          )}
          <a class="button button-plain" href={cancelHref} onClick={() => discardUnsaved(name)}>
            Cancel
          </a>
        </div>
      </div>
    </form>
  )
}

const Failure = ({ message, canSaveAnyway }: { readonly message: string; readonly canSaveAnyway: boolean }) => (
  <Banner>
    <div>
      <p>{message}</p>
      {canSaveAnyway && <p class="small">Nothing is saved yet. A pipeline that is saved anyway plays as soon as its source does.</p>}
    </div>
  </Banner>
)

/** The input, its mistakes, and what can be done with it. `discard` is undefined unless input was restored. */
const useDraft = ({ form: name, draft: initial, onDiscard }: EditorProps, focusMistake: () => void) => {
  const wasRestored = useSignal(hasUnsaved(name))
  const draft = useUnsaved(name, initial)
  const verdict = useSignal(NO_MISTAKES)
  const touched = useSignal<ReadonlySet<string>>(new Set())
  const showsAll = useSignal(false)
  const failure = useSignal<unknown>(undefined)
  useSignalEffect(() =>
    checkWhileTyping(draft.value, (found) => {
      verdict.value = found
    }),
  )
  const fields: FieldsProps = {
    draft: draft.value,
    set: (change) => {
      draft.value = { ...draft.value, ...change }
      failure.value = undefined
    },
    errorOf: (path) => (showsAll.value || touched.value.has(path) ? verdict.value.issues.get(path) : undefined),
    touch: (path) => () => {
      touched.value = new Set([...touched.value, path])
    },
  }
  const discard = (): void => {
    draft.value = initial
    wasRestored.value = false
    discardUnsaved(name)
    onDiscard?.()
  }
  const submit = async (save: EditorProps['save']): Promise<void> => {
    try {
      await save(draft.value)
      discardUnsaved(name)
    } catch (error) {
      showsAll.value = true
      if (issuesOf(error).size > 0) verdict.value = verdictOf(error)
      else failure.value = error
      focusMistake()
    }
  }
  const message = failure.value !== undefined ? textOf(failure.value) : showsAll.value ? verdict.value.message : ''
  const hasNotStarted = hasCode(failure.value, 'PIPELINE_START_TIMEOUT') || hasCode(failure.value, 'ENGINE_ERROR')
  return { draft: draft.value, fields, message, hasNotStarted, discard: wasRestored.value ? discard : undefined, submit }
}

const TYPING_MS = 400

/** Checks a draft once it has not changed for a moment. Answers a function that cancels the check. */
const checkWhileTyping = (draft: Draft, show: (verdict: Verdict) => void): (() => void) | undefined => {
  const isBegun = draft.id !== '' && (draft.uri !== '' || draft.rawPipeline !== '')
  if (!isBegun) return undefined
  const end = new AbortController()
  const timer = setTimeout(() => {
    // Without an answer there is nothing to show yet; saving will show it.
    checkDraft(draft, end.signal)
      .then(show)
      .catch(() => {})
  }, TYPING_MS)
  return () => {
    clearTimeout(timer)
    end.abort()
  }
}

const ModeChoice = ({ draft, set }: FieldsProps) => (
  <fieldset class="chips">
    <legend class="sr-only">Kind of pipeline</legend>
    {(['simple', 'advanced'] as const).map((mode) => (
      <label key={mode} class="chip">
        <input type="radio" name="mode" checked={draft.mode === mode} onChange={() => set({ mode })} />
        {mode === 'simple' ? 'Simple' : 'Advanced'}
      </label>
    ))}
  </fieldset>
)

const DescriptionField = ({ draft, set, errorOf, touch }: FieldsProps) => (
  <TextArea
    name="Description"
    help="In the syntax of gst-launch-1.0. The element named pay0 is served, pay1 as a second track."
    value={draft.rawPipeline}
    error={errorOf('raw_pipeline')}
    onInput={(rawPipeline) => set({ rawPipeline })}
    onTouched={touch('raw_pipeline')}
  />
)

const hasCode = (error: unknown, code: string): boolean => error instanceof ApiError && error.code === code

/** The message, with the cause of a failed start. */
const textOf = (error: unknown): string => {
  const cause = error instanceof ApiError && typeof error.details.cause === 'string' ? error.details.cause : ''
  const message = wordsOf(error)
  return cause === '' || message.includes(cause) ? message : `${message} ${cause}`
}
