import { Fault, type FaultReason } from '../../../engine/faults/fault.ts'
import { LogRing } from '../../../engine/play/log-ring.ts'
import { Play, type PlayEvent, type PlayParts } from '../../../engine/play/play.ts'
import type { RunContext } from '../../../engine/play/watchdog.ts'
import { createMediaStreams } from '../../../engine/rtp/media-streams.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../../lib/schema/settings.ts'
import { configure } from '../media/play-launch.ts'

/** What the child of one attempt does: no media or media for a while, and then a fault, noticed `afterMs` later. */
export interface ScriptedRun {
  readonly mediaMs?: number
  readonly fault: FaultReason
  readonly cause?: string
  readonly isAway?: boolean
  readonly afterMs?: number
}

export interface PlayOptions extends Partial<Pick<PlayParts, 'planner' | 'output' | 'releaseOutput' | 'previousFault'>> {
  readonly awaited?: boolean
  readonly byReader?: boolean
  readonly ephemeral?: boolean
  readonly settings?: Partial<Settings>
}

export const FOREVER = 1_000_000_000

export const PLAN = {
  launch: { args: [], streams: [], publishes: true, reach: {}, confidential: false, shown: [] },
  klv: null,
  sound: 'none' as const,
}

export const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

/** A child that follows its script instead of running. */
const follow = async ({ mediaMs, fault, cause, isAway, afterMs }: ScriptedRun, run: RunContext): Promise<Fault | undefined> => {
  run.report({ type: 'started', pid: 100 + run.number })
  if (mediaMs === undefined) await delay(afterMs ?? (fault === 'timeout' ? run.startTimeoutMs : 10), run.signal)
  else {
    run.mediaStats.record(1000)
    run.report({ type: 'media' })
    await delay(mediaMs, run.signal)
    run.mediaStats.record(1000)
    await delay(afterMs ?? 0, run.signal)
  }
  return run.signal.aborted ? undefined : new Fault(fault, `because ${fault}`, { isAway, ...(cause !== undefined && { cause }) })
}

/** Starts a play whose children follow the scripts in turn; after the last one media comes for ever. */
export const startPlay = (scripts: readonly ScriptedRun[], options: PlayOptions = {}) => {
  const events: PlayEvent[] = []
  const runs: RunContext[] = []
  const settings = { ...DEFAULT_SETTINGS, ...options.settings }
  const logRing = new LogRing(() => 0)
  const run = (context: RunContext): Promise<Fault | undefined> => {
    runs.push(context)
    return follow(scripts[runs.length - 1] ?? { mediaMs: FOREVER, fault: 'ended' }, context)
  }
  const play = new Play(
    {
      config: { ...configure('test://ball', null), ephemeral: options.ephemeral ?? false },
      settings: () => settings,
      planner: options.planner ?? { plan: async () => PLAN, onReturn: () => () => {} },
      output: options.output ?? { open: async () => {} },
      releaseOutput: options.releaseOutput ?? (async () => {}),
      streams: createMediaStreams(),
      runPlan: run,
      logRing,
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      previousFault: options.previousFault,
      report: (event) => events.push(event),
      random: () => 0,
    },
    { awaited: options.awaited ?? true, byReader: options.byReader ?? false },
  )
  return {
    play,
    runs,
    logRing,
    /** `media`, `lost`, `fault:unreachable`, `failed:timeout` …, without the pauses. */
    events: () => events.filter(({ type }) => type !== 'pause' && type !== 'sound').map(nameOf),
    pauses: () => events.flatMap((event) => (event.type === 'pause' && event.delayMs !== null ? [event.delayMs] : [])),
  }
}

const nameOf = (event: PlayEvent): string => {
  if (event.type === 'fault') return `fault:${event.fault.reason}`
  if (event.type === 'failed') return `failed:${event.failure}`
  return event.type === 'klv' ? `klv:${event.available}` : event.type
}
