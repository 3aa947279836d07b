import { TextField } from '../ui/field.tsx'
import type { FieldsProps } from './fields-props.ts'

const NUMBERS = [
  { key: 'latitude', name: 'Latitude', unit: 'degrees north' },
  { key: 'longitude', name: 'Longitude', unit: 'degrees east' },
  { key: 'altitude', name: 'Altitude', unit: 'm' },
  { key: 'heading', name: 'Heading', unit: 'degrees from north' },
] as const

/** The places in which the API may find a mistake in the receivers. */
const PUSH_PATHS = ['push', ...Array.from({ length: 8 }, (_, at) => `push.${at}.uri`)]

/** What is rarely needed: where the camera is, the address of the output, and receivers. */
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
      <TextField
        name="Send to"
        isCode
        placeholder="srt://host:9000 udp://239.77.1.1:5600"
        help="Receivers over srt, udp, rtmp or rtsp, up to 8, with blanks between them."
        value={draft.push}
        error={PUSH_PATHS.map(errorOf).find((error) => error !== undefined)}
        onInput={(push) => set({ push })}
        onTouched={() => {
          for (const path of PUSH_PATHS) touch(path)()
        }}
      />
    </div>
  </details>
)
