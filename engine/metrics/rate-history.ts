import type { RateSample } from '../../lib/schema/log.ts'
import { isAtRest, type PipelineView } from '../../lib/schema/pipeline.ts'

/** Between two samples. */
export const SAMPLE_MS = 10_000
/** One hour. */
const SAMPLES = 360
const SPAN_MS = SAMPLES * SAMPLE_MS
/** Frame rate, bitrate, readers, age of the newest frame. */
const VALUES = 4

/** The newest samples of one pipeline, 9 KB. */
interface Ring {
  readonly times: Float64Array
  readonly values: Float32Array
  /** How many samples were taken. */
  taken: number
}

/** What each pipeline did in the last hour, in samples. One that is at rest needs none. */
export class RateHistory {
  readonly #rings = new Map<string, Ring>()

  /** Takes a sample of each pipeline; `nowMs` since the epoch. Forgets those that are not in the list, and what is older than an hour. */
  sample(views: readonly PipelineView[], nowMs: number): void {
    const kept = new Set<string>()
    for (const view of views) {
      if (isAtRest(view)) {
        if (nowMs - this.#lastOf(view.id) <= SPAN_MS) kept.add(view.id)
      } else {
        kept.add(view.id)
        this.#add(view, nowMs)
      }
    }
    for (const id of this.#rings.keys()) if (!kept.has(id)) this.#rings.delete(id)
  }

  /** The samples of the last hour, oldest first; `nowMs` since the epoch. */
  of(id: string, nowMs: number): readonly RateSample[] {
    const ring = this.#rings.get(id)
    if (ring === undefined) return []
    const samples: RateSample[] = []
    for (let at = Math.max(0, ring.taken - SAMPLES); at < ring.taken; at += 1) {
      const time = ring.times[at % SAMPLES] ?? 0
      if (nowMs - time <= SPAN_MS) samples.push(sampleOf(ring, at % SAMPLES, time))
    }
    return samples
  }

  #lastOf(id: string): number {
    const ring = this.#rings.get(id)
    return ring === undefined ? Number.NEGATIVE_INFINITY : (ring.times[(ring.taken - 1) % SAMPLES] ?? Number.NEGATIVE_INFINITY)
  }

  #add({ id, runtime }: PipelineView, nowMs: number): void {
    const ring = this.#rings.get(id) ?? { times: new Float64Array(SAMPLES), values: new Float32Array(SAMPLES * VALUES), taken: 0 }
    this.#rings.set(id, ring)
    const place = ring.taken % SAMPLES
    ring.times[place] = nowMs
    ring.values.set([runtime.fps, runtime.bitrate_kbps, runtime.readers, runtime.last_frame_age_ms ?? Number.NaN], place * VALUES)
    ring.taken += 1
  }
}

const sampleOf = ({ values }: Ring, place: number, time: number): RateSample => {
  const [fps = 0, kbps = 0, readers = 0, age = Number.NaN] = values.subarray(place * VALUES, (place + 1) * VALUES)
  return {
    at: new Date(time).toISOString(),
    fps: Math.round(fps * 10) / 10,
    bitrate_kbps: Math.round(kbps),
    readers,
    last_frame_age_ms: Number.isNaN(age) ? null : Math.round(age),
  }
}
