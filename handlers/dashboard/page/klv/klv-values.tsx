import { signal } from '@preact/signals'
import type { KlvPacket } from '../api/types.ts'

/** Whether all values are shown, or only the common ones. */
const showsAll = signal(false)

const COMMON: ReadonlySet<string> = new Set([
  'sensor_latitude',
  'sensor_longitude',
  'sensor_true_altitude',
  'platform_heading_angle',
  'platform_pitch_angle',
  'platform_roll_angle',
  'slant_range',
  'frame_center_latitude',
  'frame_center_longitude',
  'sensor_horizontal_field_of_view',
])

/** The known values of a packet. */
export const KlvValues = ({ packet }: { readonly packet: KlvPacket }) => {
  const known = packet.items.filter(({ name, value }) => name !== null && value !== null)
  const shown = showsAll.value ? known : known.filter(({ name }) => isCommon(name ?? ''))
  return (
    <>
      <dl class="facts facts-klv">
        {shown.map(({ tag, name, value, unit }) => (
          <div key={tag}>
            <dt>{name}</dt>
            <dd>
              {typeof value === 'number' ? Number(value.toFixed(digitsOf(name))) : value} {unit ?? ''}
            </dd>
          </div>
        ))}
      </dl>
      <button
        type="button"
        class="button button-quiet button-flush"
        aria-expanded={showsAll.value}
        onClick={() => {
          showsAll.value = !showsAll.value
        }}
      >
        {showsAll.value ? 'Show fewer values' : `Show all ${known.length} values`}
      </button>
    </>
  )
}

/** Five digits of a degree are a meter on the ground. */
const digitsOf = (name: string | null): number => (/latitude|longitude/i.test(name ?? '') ? 5 : 2)

const isCommon = (name: string): boolean => COMMON.has(name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'))
