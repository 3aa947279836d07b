import { signal } from '@preact/signals'
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

const samples = new Map<string, Sample[]>()

/** Grows with each round of samples; components that read it are redrawn. */
export const round = signal(0)

/** Samples since the page was opened, at most ten minutes, oldest first. */
export const historyOf = (id: string): readonly Sample[] => samples.get(id) ?? []

export const remember = (list: readonly Pipeline[]): void => {
  const at = Date.now() / 1000
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
