import type { Engine } from '../engine/protocol.ts'
import type { Clock } from '../ports.ts'
import type { LicenseState } from '../schema/license.ts'
import type { PipelineConfig, PipelineView } from '../schema/pipeline.ts'
import { type LicenseSource, readLicense, requireCodecs, requireLicense } from './license.ts'

/** One of the licensed streams; reserved from the check until the engine itself reports the start. */
interface Slot {
  release(): void
}

export interface Licensing {
  state(): Promise<LicenseState>
  /** LICENSE_ERROR unless the license covers the codecs that this pipeline encodes. */
  requireCodecs(config: PipelineConfig): Promise<void>
  /** As `requireCodecs`, and reserves a stream for a start; LICENSE_LIMIT_EXCEEDED when none is left. A running pipeline counts once. */
  takeSlot(config: PipelineConfig): Promise<Slot>
}

const UNLIMITED: Slot = { release: () => undefined }

/** Phases with a child process, or in which the engine starts one again by itself. */
const RUNNING: ReadonlySet<string> = new Set(['starting', 'playing', 'reconnecting', 'stopping'])

const isRunning = (view: PipelineView): boolean => RUNNING.has(view.runtime.phase)

/** Counts running pipelines exactly, also while many start at once. */
export const createLicensing = (deps: { source: LicenseSource; engine: Engine; clock: Clock }): Licensing => {
  const state = () => readLicense(deps.source, deps.clock)
  const reserved = new Map<string, number>()
  let turn: Promise<unknown> = Promise.resolve()

  const reserve = (id: string): Slot => {
    reserved.set(id, (reserved.get(id) ?? 0) + 1)
    return {
      release: () => {
        const left = (reserved.get(id) ?? 1) - 1
        if (left === 0) reserved.delete(id)
        else reserved.set(id, left)
      },
    }
  }

  const takeInTurn = async (config: PipelineConfig, current: LicenseState): Promise<Slot> => {
    // A start that finishes during the call of `list` may be in neither: count what was reserved before the call too.
    const counted = new Set(reserved.keys())
    for (const view of await deps.engine.list()) if (isRunning(view)) counted.add(view.id)
    for (const id of reserved.keys()) counted.add(id)
    if (counted.has(config.id)) return reserve(config.id)
    requireLicense(current, config, counted.size)
    return reserve(config.id)
  }

  return {
    state,
    requireCodecs: async (config) => requireCodecs(await state(), config),
    takeSlot: async (config) => {
      const current = await state()
      if (current.status === 'unlimited') return UNLIMITED
      const taken = turn.then(() => takeInTurn(config, current))
      turn = taken.catch(() => undefined)
      return taken
    },
  }
}
