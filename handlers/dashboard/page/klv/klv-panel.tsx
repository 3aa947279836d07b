import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { api } from '../api/api.ts'
import { whileVisible } from '../api/follow.ts'
import { now, serviceClock } from '../api/now.ts'
import { take } from '../api/pipelines.ts'
import type { KlvPacket, Pipeline } from '../api/types.ts'
import { loadPart } from '../api/upgrade.ts'
import { Action } from '../ui/action.tsx'
import { useAbortable } from '../ui/use-abortable.ts'
import { durationText, timeText } from '../words/format.ts'
import { KlvValues } from './klv-values.tsx'

const STALE_MS = 5000
/** Packets come up to 30 times a second, faster than anybody reads. Events would occupy one of the browser's few connections. */
const POLL_MS = 500
const RETRY_MS = 2000

interface KlvPanelProps {
  readonly pipeline: Pipeline
  /** The packet of the frame that is shown; undefined where none is. */
  readonly shown: ReadonlySignal<Uint8Array | undefined>
}

/** The KLV values of the frame that is shown, or without one the latest of the pipeline. */
export const KlvPanel = ({ pipeline: { id, klv }, shown: ofShownFrame }: KlvPanelProps) => {
  const packet = useSignal<KlvPacket | undefined>(undefined)
  /** By the clock of the service. */
  const receivedAt = useSignal(0)
  const isDecoded = klv.state === 'playing'
  const ofFrame = useRef({ atMs: Number.NEGATIVE_INFINITY })
  useSignalEffect(() => {
    const bytes = ofShownFrame.value
    if (bytes === undefined) return
    ofFrame.current.atMs = performance.now()
    void loadPart(import('../player/decode-klv.ts')).then((part) => {
      const decoded = part?.decodeKlv(id, bytes)
      // A later frame may be shown by now.
      if (decoded === undefined || ofShownFrame.peek() !== bytes) return
      packet.value = decoded
      receivedAt.value = serviceClock.now()
    })
  })
  useAbortable(
    (signal) => {
      if (!isDecoded) return
      void poll(id, signal, (latest) => {
        if (performance.now() - ofFrame.current.atMs < STALE_MS) return
        packet.value = latest
        receivedAt.value = serviceClock.now() - latest.age_ms
      })
    },
    [id, isDecoded],
  )
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
          <KlvValues packet={packet.value} />
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
