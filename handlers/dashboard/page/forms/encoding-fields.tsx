import { SelectField, TextField } from '../ui/field.tsx'
import type { Draft } from './draft.ts'
import type { FieldsProps } from './fields-props.ts'

const CODECS = [
  ['', 'Pass through'],
  ['h264', 'Encode to H.264'],
  ['h265', 'Encode to H.265'],
] as const

const NUMBERS = [
  { key: 'bitrate', path: 'encoding.bitrate', name: 'Bitrate', unit: 'kbit/s', placeholder: '2000' },
  { key: 'fps', path: 'encoding.fps', name: 'Frame rate', unit: 'fps', placeholder: 'As the source' },
  { key: 'width', path: 'encoding.width', name: 'Width', unit: 'pixels', placeholder: 'As the source' },
  { key: 'height', path: 'encoding.height', name: 'Height', unit: 'pixels', placeholder: 'As the source' },
  { key: 'quality', path: 'encoding.quality', name: 'Quality', unit: '1 fast – 10 best', placeholder: '7' },
] as const

/** Codec and encoding of the video. */
export const EncodingFields = ({ draft, set, errorOf, touch }: FieldsProps) => (
  <section class="panel form-group">
    <SelectField
      name="Video"
      help="Pass-through needs little CPU. MJPEG and raw video must be encoded."
      value={draft.codec}
      error={errorOf('encoding.codec')}
      onInput={(codec) => set({ codec: codec as Draft['codec'] })}
      options={CODECS}
    />
    {draft.codec !== '' && (
      <div class="form-row">
        {NUMBERS.map(({ key, path, name, unit, placeholder }) => (
          <TextField
            key={key}
            name={name}
            unit={unit}
            placeholder={placeholder}
            inputMode="numeric"
            value={draft[key]}
            error={errorOf(path)}
            onInput={(value) => set({ [key]: value })}
            onTouched={touch(path)}
          />
        ))}
      </div>
    )}
  </section>
)
