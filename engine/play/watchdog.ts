import { watchSilence } from '../../lib/watch-silence.ts'
import { Fault } from '../faults/fault.ts'
import type { FoundSound } from '../mount/served-sound.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { MediaStreams } from '../rtp/media-streams.ts'
import type { LogRing } from './log-ring.ts'
import type { MediaStats } from './media-stats.ts'

/** A pipeline without pay0 has no media that shows whether it works: it has started when it has been in PLAYING for this time. */
const STEADY_MS = 500
/** The stall timeout may change meanwhile. */
const LOOK_EVERY_MS = 1000

/** What every run has, whatever brings its media. */
export interface RunContext {
  readonly number: number
  /** stream 0 = pay0, 1 = pay1 */
  readonly streams: MediaStreams
  readonly mediaStats: MediaStats
  readonly logRing: LogRing
  /** Ends the run. */
  readonly signal: AbortSignal
  /** How long the first media may take, milliseconds. */
  readonly startTimeoutMs: number
  /** How long media may pause, milliseconds; read at each check, since settings change. */
  readonly stallTimeoutMs: () => number
  readonly report: (event: RunEvent) => void
}

export type RunEvent =
  | { readonly type: 'started'; readonly pid: number }
  /** The first key frame came or, of a pipeline without pay0, the child has been in PLAYING for half a second. */
  | { readonly type: 'media' }
  /** Whether the source announces a KLV track; its packets may come later. */
  | { readonly type: 'klv'; readonly available: boolean; readonly synchronous?: boolean }
  /** Its sound is not carried. */
  | { readonly type: 'sound'; readonly found: FoundSound }

/** What the watchdog ends a run for. */
export type MissingMedia = 'no_media' | 'no_key_frame' | 'stalled'

export interface Watchdog {
  /** A child without RTP output is in PLAYING. */
  playing(): void
  /** The child has come to PLAYING, but has not been in it long enough. */
  readonly unsteady: boolean
  /** There was video. */
  readonly hadMedia: boolean
  close(): void
}

/**
 * Counts the video of a run, and stops it when its first media does not come within the start timeout, or when its media pauses for
 * longer than the stall timeout. `publishes`: there is video at all.
 */
export const startWatchdog = (run: RunContext, publishes: boolean, stop: (why: MissingMedia) => void): Watchdog => {
  let hadMedia = false
  let hadVideo = false
  let steadyTimer: NodeJS.Timeout | undefined
  const startTimer = setTimeout(() => stop(hadVideo ? 'no_key_frame' : 'no_media'), run.startTimeoutMs)
  let stopWatching = (): void => {}
  const begin = (): void => {
    hadMedia = true
    clearTimeout(startTimer)
    // A pipeline without RTP output shows no progress that could stall.
    if (publishes)
      stopWatching = watchSilence({
        heardAt: () => run.mediaStats.lastFrameAt ?? 0,
        silenceMs: run.stallTimeoutMs,
        checkEveryMs: LOOK_EVERY_MS,
        onSilent: () => stop('stalled'),
      })
    run.report({ type: 'media' })
  }
  const unsubscribe = run.streams[0].onUnit(({ bytes, key }: AccessUnit) => {
    run.mediaStats.record(bytes)
    hadVideo = true
    // The first counts only when a decoder can begin with it.
    if (!hadMedia && key) begin()
  })
  return {
    playing: () => {
      clearTimeout(startTimer)
      steadyTimer ??= setTimeout(begin, STEADY_MS)
    },
    get unsteady() {
      return steadyTimer !== undefined && !hadMedia
    },
    get hadMedia() {
      return hadMedia
    },
    close: () => {
      unsubscribe()
      clearTimeout(startTimer)
      stopWatching()
      clearTimeout(steadyTimer)
    },
  }
}

/** The fault of a run that the watchdog has ended. */
export const missingMediaFault = (why: MissingMedia, run: RunContext): Fault => {
  const seconds = (ms: number): number => Math.round(ms / 1000)
  if (why === 'stalled') return new Fault('stalled', `The source stopped sending video for ${seconds(run.stallTimeoutMs())} s.`)
  const advice =
    why === 'no_media'
      ? `No video came within ${seconds(run.startTimeoutMs)} s. Check that the source sends video now.`
      : `Video came, but no key frame within ${seconds(run.startTimeoutMs)} s. Let the source send one more often, or raise start_timeout_seconds.`
  return new Fault('timeout', advice)
}
