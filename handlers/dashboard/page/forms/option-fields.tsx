import { CheckField } from '../ui/field.tsx'
import type { FieldsProps } from './fields-props.ts'

const OPTIONS = [
  { key: 'onDemand', name: 'On demand', help: 'Starts with the first reader, and stops some time after the last one has left.' },
  { key: 'passKlv', name: 'Serve KLV metadata', help: 'The KLV of the source becomes a second track of the stream.' },
  { key: 'extractPosition', name: 'Take the position from KLV', help: 'Keeps the position on the map up to date.' },
] as const

/** What applies to every kind of pipeline. */
export const OptionFields = ({ draft, set }: FieldsProps) => (
  <section class="panel form-group">
    {OPTIONS.map(({ key, name, help }) => (
      <CheckField key={key} name={name} help={help} checked={draft[key]} onInput={(checked) => set({ [key]: checked })} />
    ))}
  </section>
)
