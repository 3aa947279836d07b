import { signal, useSignal } from '@preact/signals'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { now, serviceClock } from '../api/now.ts'
import { take } from '../api/pipelines.ts'
import type { KlvPacket, Pipeline } from '../api/types.ts'
import { Action } from '../ui/action.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { durationText, timeText } from '../words/format.ts'

const STALE_MS = 5000
/** Packets come up to 30 times a second, faster than anybody reads. Events would occupy one of the browser's few connections. */
const POLL_MS = 500
const RETRY_MS = 2000

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

/** The KLV values of a pipeline, live. */
export const KlvPanel = ({ pipeline: { id, klv } }: { readonly pipeline: Pipeline }) => {
  const packet = useSignal<KlvPacket | undefined>(undefined)
  /** By the clock of the service. */
  const receivedAt = useSignal(0)
  const isDecoded = klv.state === 'playing'
  useAbortable(
    (signal) => {
      if (!isDecoded) return
      void poll(id, signal, (latest) => {
        packet.value = latest
        receivedAt.value = serviceClock.now() - latest.age_ms
      })
    },
    [id, isDecoded],
  )
  const known = packet.value?.items.filter(({ name, value }) => name !== null && value !== null) ?? []
  const shown = showsAll.value ? known : known.filter(({ name }) => isCommon(name ?? ''))
  const age = packet.value === undefined ? 0 : now.value - receivedAt.value
  return (
    <section class="panel" aria-labelledby="klv-title">
      <div class="panel-head">
        <h2 id="klv-title">KLV metadata</h2>
        {!isDecoded && (
          <Action icon="play" run={async () => take(await api.startKlv({ id }))}>
            Decode
          </Action>
        )}
      </div>
      {!isDecoded && <p class="muted">The source carries KLV metadata. Decode it to see position and attitude here.</p>}
      {isDecoded && packet.value === undefined && <p class="muted">Waiting for the first packet…</p>}
      {packet.value !== undefined && (
        <>
          <p class={age > STALE_MS ? 'field-error' : 'muted small'}>
            {age > STALE_MS
              ? `No packet for ${durationText(age)}`
              : `Packet of ${timeText(packet.value.timestamp ?? packet.value.received_at)}`}
          </p>
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
      )}
    </section>
  )
}

const poll = (id: string, signal: AbortSignal, show: (latest: KlvPacket) => void): Promise<void> =>
  whileVisible(signal, async () => {
    try {
      show((await api.getKlv({ id, signal })) as KlvPacket)
      return POLL_MS
    } catch {
      // Without an answer, or before the first packet, the last packet stays.
      return RETRY_MS
    }
  })

/** Five digits of a degree are a meter on the ground. */
const digitsOf = (name: string | null): number => (/latitude|longitude/i.test(name ?? '') ? 5 : 2)

const isCommon = (name: string): boolean => COMMON.has(name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_'))
