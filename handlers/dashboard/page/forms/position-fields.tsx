import { TextArea, TextField } from '../ui/field.tsx'
import { type Draft, receiversOf } from './draft.ts'
import type { FieldsProps } from './fields-props.ts'

const NUMBERS = [
  { key: 'latitude', name: 'Latitude', unit: 'degrees north' },
  { key: 'longitude', name: 'Longitude', unit: 'degrees east' },
  { key: 'altitude', name: 'Altitude', unit: 'm' },
  { key: 'heading', name: 'Heading', unit: 'degrees from north' },
] as const

/** Paths of mistakes in the receivers. */
const PUSH_PATHS = ['push', ...Array.from({ length: 8 }, (_, at) => `push.${at}.uri`)]

const PATHS = ['output.uri', ...NUMBERS.map(({ key }) => `geolocation.${key}`), ...PUSH_PATHS]

/** The first mistake, after its receiver. */
const pushError = ({ push }: Draft, errorOf: FieldsProps['errorOf']): string | undefined => {
  const at = PUSH_PATHS.findIndex((path) => errorOf(path) !== undefined)
  const error = errorOf(PUSH_PATHS[at] ?? '')
  const receiver = receiversOf(push)[at - 1]
  return receiver === undefined ? error : `${receiver}: ${error}`
}

const isUsed = ({ latitude, extractPosition, push }: Draft): boolean => (latitude !== '' && !extractPosition) || push !== ''

/** Rarely needed fields: position, output and receivers. Open when one is used or has a mistake. */
export const PositionFields = ({ draft, set, errorOf, touch }: FieldsProps) => (
  <details class="panel" open={isUsed(draft) || PATHS.some((path) => errorOf(path) !== undefined)}>
    <summary>Position, address and receivers</summary>
    <div class="form-group">
      {draft.extractPosition ? (
        <p class="muted">The position comes from KLV.</p>
      ) : (
        <div class="form-row form-row-wide">
          {NUMBERS.map(({ key, name, unit }) => (
            <TextField
              key={key}
              name={name}
              unit={unit}
              inputMode="decimal"
              value={draft[key]}
              error={errorOf(`geolocation.${key}`)}
              onInput={(value) => set({ [key]: value })}
              onTouched={touch(`geolocation.${key}`)}
            />
          ))}
        </div>
      )}
      <TextField
        name="Output"
        isCode
        placeholder={`rtsp://0.0.0.0:50000/${draft.id || 'name'}`}
        help="RTSP address of the output. If empty, a free port is used."
        value={draft.output}
        error={errorOf('output.uri')}
        onInput={(output) => set({ output })}
        onTouched={touch('output.uri')}
      />
      <TextArea
        name="Send to"
        rows={3}
        placeholder="srt://host:9000"
        help="Addresses of receivers, one per line, up to 8."
        value={draft.push}
        error={pushError(draft, errorOf)}
        onInput={(push) => set({ push })}
        onTouched={() => {
          for (const path of PUSH_PATHS) touch(path)()
        }}
      />
    </div>
  </details>
)
