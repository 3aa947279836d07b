import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, issuesOf, wordsOf } from '../api/api.ts'
import { Action } from '../ui/action.tsx'
import { CheckField, TextArea, TextField } from '../ui/field.tsx'
import { Icon } from '../ui/icon.tsx'
import { forgetTyped, isKept, useKept } from '../ui/kept.ts'
import { checkDraft, NO_VERDICT, type Verdict, verdictOf } from './check.ts'
import type { Draft } from './draft.ts'
import { EncodingFields } from './encoding-fields.tsx'
import type { FieldsProps } from './fields-props.ts'
import { PositionFields } from './position-fields.tsx'
import { SourceField } from './source-field.tsx'

interface EditorProps {
  /** Under this name unsaved text is kept while the form is closed. */
  readonly form: string
  readonly draft: Draft
  readonly isNew: boolean
  readonly action: (draft: Draft) => string
  readonly busyText: string
  readonly save: (draft: Draft) => Promise<void>
  readonly cancelHref: string
  /** Whoever gives up what was typed sees the pipeline as it is now. */
  readonly onBeginAnew?: () => unknown
}

const TYPING_MS = 400

/** The form of a pipeline: checked by the API while somebody types, each error beside its field. */
export const Editor = ({ form: name, draft: initial, isNew, action, busyText, save, cancelHref, onBeginAnew }: EditorProps) => {
  const wasKept = useSignal(isKept(name))
  const draft = useKept(name, initial)
  const verdict = useSignal<Verdict>(NO_VERDICT)
  const touched = useSignal<ReadonlySet<string>>(new Set())
  const failure = useSignal('')
  const form = useRef<HTMLFormElement>(null)
  useSignalEffect(() => {
    const { value } = draft
    // Somebody has just begun.
    if (value.id === '' || (value.uri === '' && value.rawPipeline === '')) return
    const end = new AbortController()
    const timer = setTimeout(() => {
      checkDraft(value, end.signal)
        .then((found) => {
          verdict.value = found
        })
        // Without an answer there is nothing to say yet; saving will.
        .catch(() => {})
    }, TYPING_MS)
    return () => {
      clearTimeout(timer)
      end.abort()
    }
  })
  const showsAll = touched.value.has('*')
  const fields: FieldsProps = {
    draft: draft.value,
    set: (change) => {
      draft.value = { ...draft.value, ...change }
      failure.value = ''
    },
    errorOf: (path) => (showsAll || touched.value.has(path) ? verdict.value.issues.get(path) : undefined),
    touch: (path) => () => {
      touched.value = new Set([...touched.value, path])
    },
  }
  const isFirstError = useSignal(0)
  useEffect(() => {
    if (isFirstError.value > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [isFirstError.value])
  const submit = async (): Promise<void> => {
    try {
      await save(draft.value)
      forgetTyped(name)
    } catch (error) {
      touched.value = new Set(['*'])
      if (issuesOf(error).size > 0) verdict.value = verdictOf(error)
      else failure.value = textOf(error)
      isFirstError.value++
    }
  }
  const { mode } = draft.value
  return (
    <form ref={form} class="form" noValidate onSubmit={(event) => event.preventDefault()}>
      {wasKept.value && (
        <p class="muted small" role="status">
          What you typed before is still here.{' '}
          <button
            type="button"
            class="link"
            onClick={() => {
              draft.value = initial
              wasKept.value = false
              forgetTyped(name)
              onBeginAnew?.()
            }}
          >
            Begin anew
          </button>
        </p>
      )}
      {isNew && (
        <fieldset class="chips">
          <legend class="sr-only">Kind of pipeline</legend>
          {(['simple', 'advanced'] as const).map((kind) => (
            <label key={kind} class="chip">
              <input type="radio" name="mode" checked={mode === kind} onChange={() => fields.set({ mode: kind })} />
              {kind === 'simple' ? 'Simple' : 'Advanced'}
            </label>
          ))}
        </fieldset>
      )}
      <section class="panel form-group">
        <TextField
          name="Name"
          help={isNew ? 'Letters, digits, dashes and underscores. It is part of the address of the stream.' : 'It cannot be changed.'}
          value={draft.value.id}
          error={fields.errorOf('id')}
          onInput={(id) => fields.set({ id })}
          onTouched={fields.touch('id')}
          readOnly={!isNew}
        />
        {mode === 'simple' ? (
          <SourceField {...fields} isNew={isNew} />
        ) : (
          <TextArea
            name="Description"
            help="In the syntax of gst-launch-1.0. The element named pay0 is served, pay1 as a second track."
            value={draft.value.rawPipeline}
            error={fields.errorOf('raw_pipeline')}
            onInput={(rawPipeline) => fields.set({ rawPipeline })}
            onTouched={fields.touch('raw_pipeline')}
          />
        )}
      </section>
      {mode === 'simple' && <EncodingFields {...fields} />}
      <section class="panel form-group">
        <CheckField
          name="On demand"
          help="Starts with its first reader, and stops some time after the last one has gone."
          checked={draft.value.onDemand}
          onInput={(onDemand) => fields.set({ onDemand })}
        />
        <CheckField
          name="Serve KLV metadata"
          help="The KLV of the source becomes a second track of the stream."
          checked={draft.value.passKlv}
          onInput={(passKlv) => fields.set({ passKlv })}
        />
        <CheckField
          name="Take the position from KLV"
          help="Keeps the position on the map up to date."
          checked={draft.value.extractPosition}
          onInput={(extractPosition) => fields.set({ extractPosition })}
        />
      </section>
      <PositionFields {...fields} />
      <div class="form-end">
        {(failure.value !== '' || (showsAll && verdict.value.message !== '')) && (
          <div class="banner banner-bad" role="alert">
            <Icon name="alert" />
            <p>{failure.value || verdict.value.message}</p>
          </div>
        )}
        <div class="actions">
          <Action kind="primary" type="submit" busyText={busyText} run={submit}>
            {action(draft.value)}
          </Action>
          <a class="button button-plain" href={cancelHref} onClick={() => forgetTyped(name)}>
            Cancel
          </a>
        </div>
      </div>
    </form>
  )
}

/** The message, and why a start failed. */
const textOf = (error: unknown): string => {
  const cause = error instanceof ApiError && typeof error.details.cause === 'string' ? error.details.cause : ''
  const message = wordsOf(error)
  return cause === '' || message.includes(cause) ? message : `${message} ${cause}`
}
