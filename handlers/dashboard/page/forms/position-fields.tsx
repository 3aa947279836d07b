import { TextField } from '../ui/field.tsx'
import type { FieldsProps } from './fields-props.ts'

const NUMBERS = [
  { key: 'latitude', name: 'Latitude', unit: 'degrees north' },
  { key: 'longitude', name: 'Longitude', unit: 'degrees east' },
  { key: 'altitude', name: 'Altitude', unit: 'm' },
  { key: 'heading', name: 'Heading', unit: 'degrees from north' },
] as const

/** What is rarely needed: where the camera is, and the address of the output. */
export const PositionFields = ({ draft, set, errorOf, touch }: FieldsProps) => (
  <details class="panel" open={draft.latitude !== '' && !draft.extractPosition}>
    <summary>Position and address</summary>
    <div class="form-group">
      {draft.extractPosition ? (
        <p class="muted">The position comes from KLV.</p>
      ) : (
        <div class="form-row">
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
        help="Where it is served. Left empty, a free port is taken."
        value={draft.output}
        error={errorOf('output.uri')}
        onInput={(output) => set({ output })}
        onTouched={touch('output.uri')}
      />
    </div>
  </details>
)
