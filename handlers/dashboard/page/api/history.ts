import { signal } from '@preact/signals'
import { api } from './api.ts'
import { whileVisible } from './follow.ts'
import { serviceClock } from './now.ts'
import type { Pipeline } from './types.ts'

export interface Sample {
  /** Seconds since the epoch. */
  readonly at: number
  readonly fps: number
  readonly bitrate: number
  readonly readers: number
  /** Milliseconds; null when no frame has come. */
  readonly age: number | null
}

/** Ten minutes at two seconds each. */
const MAX_SAMPLES = 300
/** Before the samples of the page that are dropped are missing. */
const LOAD_AGAIN_MS = 300_000

const samples = new Map<string, Sample[]>()
/** Those that the service has kept, of pipelines whose page is open. */
const kept = new Map<string, readonly Sample[]>()

/** Grows with each round of samples; components that read it are redrawn. */
export const round = signal(0)

/** Samples since the page was opened, at most ten minutes, oldest first. */
export const historyOf = (id: string): readonly Sample[] => samples.get(id) ?? []

/** Samples of the last hour: those of the page, and before them those of the service. */
export const lastHourOf = (id: string): readonly Sample[] => {
  const own = historyOf(id)
  const first = own[0]?.at ?? Number.POSITIVE_INFINITY
  return [...(kept.get(id) ?? []).filter(({ at }) => at < first), ...own]
}

/** Loads what the service has kept, until the signal aborts. */
export const loadHistory = (id: string, signal: AbortSignal): Promise<void> =>
  whileVisible(signal, async () => {
    try {
      const loaded = await api.getPipelineHistory({ id, signal })
      if (signal.aborted) return undefined
      kept.set(id, loaded.map(toSample))
      round.value++
    } catch {
      // The charts begin with the samples of the page.
    }
    return LOAD_AGAIN_MS
  }).finally(() => kept.delete(id))

type Kept = Awaited<ReturnType<typeof api.getPipelineHistory>>[number]

const toSample = ({ at, fps, bitrate_kbps: bitrate, readers, last_frame_age_ms: age }: Kept): Sample => ({
  at: Date.parse(at) / 1000,
  fps,
  bitrate,
  readers,
  age,
})

export const remember = (list: readonly Pipeline[]): void => {
  // By the clock of the service, as the samples that it has kept.
  const at = serviceClock.now() / 1000
  for (const { id, runtime } of list) {
    const own = samples.get(id) ?? []
    own.push({ at, fps: runtime.fps, bitrate: runtime.bitrate_kbps, readers: runtime.readers, age: runtime.last_frame_age_ms })
    if (own.length > MAX_SAMPLES) own.shift()
    samples.set(id, own)
  }
  round.value++
}

export const forget = (id: string): void => {
  samples.delete(id)
}
