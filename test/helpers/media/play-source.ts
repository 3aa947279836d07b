import { onTestFinished } from 'vitest'
import type { Fault } from '../../../engine/faults/fault.ts'
import { createPlanner, type Plan, type Planner } from '../../../engine/launch/plan.ts'
import { LogRing } from '../../../engine/play/log-ring.ts'
import { MediaStats } from '../../../engine/play/media-stats.ts'
import { runPlan } from '../../../engine/play/run-plan.ts'
import type { RunEvent } from '../../../engine/play/watchdog.ts'
import type { AccessUnit } from '../../../engine/rtp/access-unit.ts'
import { createMediaStreams, type MediaStreams } from '../../../engine/rtp/media-streams.ts'
import type { PipelineConfig } from '../../../lib/schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../../../lib/schema/settings.ts'
import { until } from '../until.ts'
import { configure, probe } from './play-launch.ts'

/** A run of a source, as a play starts it. */
export interface SourcePlay {
  /** Of its child; undefined without one. */
  readonly pid: () => number | undefined
  readonly streams: MediaStreams
  readonly video: readonly AccessUnit[]
  readonly klv: readonly AccessUnit[]
  readonly events: readonly RunEvent[]
  /** Resolves to the fault that ends the run, undefined after `stop`. */
  readonly ended: Promise<Fault | undefined>
  log(): readonly string[]
  /** Resolves when there is video that a decoder can begin with; rejects with the fault of a run that ends before. */
  media(): Promise<void>
  stop(): Promise<void>
}

interface PlayOptions {
  readonly planner?: Planner
  readonly previousFault?: Fault | undefined
  readonly startTimeoutMs?: number
  readonly stallTimeoutMs?: number
  readonly streams?: MediaStreams
}

export const newPlanner = (): Planner => createPlanner({ allowFiles: false })

export const newStreams = (): MediaStreams => createMediaStreams()

/** Plans and runs a source, or a whole configuration, until the test is over. Rejects with the fault of the plan. */
export const playSource = async (source: string | PipelineConfig, options: PlayOptions = {}): Promise<SourcePlay> => {
  const { planner = newPlanner(), previousFault, startTimeoutMs = 10_000, stallTimeoutMs = 10_000 } = options
  const stopped = new AbortController()
  const attempt = { signal: stopped.signal, timeoutMs: startTimeoutMs, previousFault }
  const config = typeof source === 'string' ? configure(source, null) : source
  const plan: Plan = await probe(() => planner.plan(config, DEFAULT_SETTINGS, attempt))
  const streams = options.streams ?? newStreams()
  const [video, klv]: [AccessUnit[], AccessUnit[]] = [[], []]
  streams[0].onUnit((unit) => video.push(unit))
  streams[1].onUnit((unit) => klv.push(unit))
  const events: RunEvent[] = []
  const logRing = new LogRing(() => 0)
  const context = {
    number: logRing.beginRun(),
    streams,
    mediaStats: new MediaStats(),
    logRing,
    signal: stopped.signal,
    startTimeoutMs,
    stallTimeoutMs: () => stallTimeoutMs,
    report: (event: RunEvent) => events.push(event),
  }
  const ended = runPlan(context, plan)
  const stop = async (): Promise<void> => {
    stopped.abort()
    await ended
  }
  onTestFinished(stop)
  return {
    pid: () => events.find((event) => event.type === 'started')?.pid,
    streams,
    video,
    klv,
    events,
    ended,
    log: () => logRing.lines().map(({ line }) => line),
    media: async () => {
      const early = ended.then((fault) => {
        throw fault ?? new Error('It was stopped')
      })
      early.catch(() => {})
      await Promise.race([until(() => events.some(({ type }) => type === 'media'), Boolean, startTimeoutMs + 5000), early])
    },
    stop,
  }
}

/** The fault of a source that does not come to play. */
export const faultOf = async (source: string | PipelineConfig, options: PlayOptions = {}): Promise<Fault> => {
  const play = await playSource(source, options).catch((error: Fault) => error)
  if ('reason' in play) return play
  const fault = await play.ended
  if (fault === undefined) throw new Error('It was stopped')
  return fault
}
