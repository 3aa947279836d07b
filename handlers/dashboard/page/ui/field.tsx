import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly name: string
  readonly help?: ComponentChildren
  readonly error?: string | undefined
  readonly value: string
  readonly onInput: (value: string) => void
  readonly onTouched?: (() => void) | undefined
}

interface TextFieldProps extends FieldProps {
  readonly inputMode?: 'numeric' | 'decimal' | 'url' | 'text'
  readonly placeholder?: string
  readonly unit?: string
  readonly readOnly?: boolean
  readonly autocomplete?: string
  readonly isCode?: boolean
}

/** The name, help and error of a field. */
const Frame = ({
  name,
  help,
  error,
  id,
  children,
}: Pick<FieldProps, 'name' | 'help' | 'error'> & { id: string; children: ComponentChildren }) => (
  <div class="field">
    <label class="field-name" for={id}>
      {name}
    </label>
    {children}
    {help !== undefined && (
      <p id={`${id}-help`} class="field-help">
        {help}
      </p>
    )}
    <p id={`${id}-error`} class="field-error" aria-live="polite">
      {error}
    </p>
  </div>
)

const described = (id: string, help: ComponentChildren, error: string | undefined) => ({
  id,
  'aria-describedby': help === undefined ? `${id}-error` : `${id}-help ${id}-error`,
  'aria-invalid': error !== undefined,
})

export const TextField = ({ name, help, error, value, onInput, onTouched, unit, isCode, ...rest }: TextFieldProps) => {
  const id = useId()
  const attributes = {
    ...described(id, help, error),
    class: isCode === true ? 'mono' : '',
    value,
    spellcheck: false,
    autocomplete: 'off',
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onInput(currentTarget.value),
    onBlur: onTouched,
    ...rest,
  } as const
  return (
    <Frame name={unit === undefined ? name : `${name} (${unit})`} help={help} error={error} id={id}>
      <input {...attributes} type="text" />
    </Frame>
  )
}

interface PasswordFieldProps extends FieldProps {
  readonly autocomplete: string
  readonly placeholder?: string
}

/** A password, which can be shown while it is typed. */
export const PasswordField = ({ name, help, error, value, onInput, onTouched, ...rest }: PasswordFieldProps) => {
  const id = useId()
  const isShown = useSignal(false)
  const attributes = {
    ...described(id, help, error),
    value,
    spellcheck: false,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => onInput(currentTarget.value),
    onBlur: onTouched,
    ...rest,
  } as const
  return (
    <Frame name={name} help={help} error={error} id={id}>
      <span class="password">
        {isShown.value ? <input {...attributes} type="text" /> : <input {...attributes} type="password" />}
        <button
          type="button"
          class="button button-quiet"
          aria-label={`${isShown.value ? 'Hide' : 'Show'}: ${name}`}
          onClick={() => {
            isShown.value = !isShown.value
          }}
        >
          {isShown.value ? 'Hide' : 'Show'}
        </button>
      </span>
    </Frame>
  )
}

interface TextAreaProps extends FieldProps {
  readonly rows?: number
  readonly placeholder?: string
}

export const TextArea = ({ name, help, error, value, onInput, onTouched, rows = 8, placeholder }: TextAreaProps) => {
  const id = useId()
  return (
    <Frame name={name} help={help} error={error} id={id}>
      <textarea
        {...described(id, help, error)}
        class="mono"
        rows={rows}
        placeholder={placeholder}
        value={value}
        spellcheck={false}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
        onBlur={onTouched}
      />
    </Frame>
  )
}

interface SelectFieldProps extends FieldProps {
  readonly options: readonly (readonly [value: string, text: string])[]
}

export const SelectField = ({ name, help, error, value, onInput, options }: SelectFieldProps) => {
  const id = useId()
  return (
    <Frame name={name} help={help} error={error} id={id}>
      <select {...described(id, help, error)} value={value} onChange={({ currentTarget }) => onInput(currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  )
}

interface CheckFieldProps {
  readonly name: string
  readonly help?: string
  readonly checked: boolean
  readonly onInput: (checked: boolean) => void
}

export const CheckField = ({ name, help, checked, onInput }: CheckFieldProps) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={({ currentTarget }) => onInput(currentTarget.checked)} />
    <span>
      {name}
      {help !== undefined && <span class="field-help">{help}</span>}
    </span>
  </label>
)
