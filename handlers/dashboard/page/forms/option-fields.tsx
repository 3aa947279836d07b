import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import type { Draft } from './draft.ts'
import type { FieldsProps } from './fields-props.ts'

const OPTIONS = [
  { key: 'onDemand', name: 'On demand', help: 'Starts with the first reader, and stops some time after the last one has left.' },
  { key: 'passKlv', name: 'Serve KLV metadata', help: 'The KLV of the source becomes a second track of the stream.' },
  {
    key: 'timedKlv',
    name: 'KLV with the times of its frames',
    help: 'In MPEG-TS: streams, receivers and recordings. Not every player reads it.',
  },
  { key: 'extractPosition', name: 'Take the position from KLV', help: 'Keeps the position on the map up to date.' },
] as const

const SOUND = [
  ['copy', 'As the source sends it'],
  ['aac', 'Encode to AAC'],
  ['opus', 'Encode to Opus'],
  ['off', 'Without sound'],
] as const

/** What applies to every kind of pipeline. */
export const OptionFields = ({ draft, set, errorOf, touch }: FieldsProps) => (
  <section class="panel form-group">
    <div class="form-row">
      <SelectField
        name="Sound"
        value={draft.audio}
        error={errorOf('audio')}
        onInput={(audio) => set({ audio: audio as Draft['audio'] })}
        options={draft.audio === '' ? [['', 'As in the settings'], ...SOUND] : SOUND}
      />
      {(draft.audio === 'aac' || draft.audio === 'opus') && (
        <TextField
          name="Bitrate of the sound"
          unit="kbit/s"
          inputMode="numeric"
          placeholder={draft.audio === 'aac' ? '128' : '64'}
          value={draft.audioBitrate}
          error={errorOf('audio_bitrate')}
          onInput={(audioBitrate) => set({ audioBitrate })}
          onTouched={touch('audio_bitrate')}
        />
      )}
    </div>
    {OPTIONS.map(({ key, name, help }) => (
      <CheckField key={key} name={name} help={help} checked={draft[key]} onInput={(checked) => set({ [key]: checked })} />
    ))}
  </section>
)
