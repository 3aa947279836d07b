import type { Engine } from '../engine/protocol.ts'
import type { Clock } from '../ports.ts'
import type { LicenseState } from '../schema/license.ts'
import { type Codec, isAtRest, type PipelineConfig } from '../schema/pipeline.ts'
import { type LicenseSource, licensedCodecs, licenseFault, readLicense, requireCodecs, requireLicense } from './license.ts'

/** One of the licensed streams; reserved from the check until the engine itself reports the start. */
interface Slot {
  release(): void
}

export interface Licensing {
  state(): Promise<LicenseState>
  /** Why the license lets no pipeline start, for its operator; undefined when it does. */
  fault(): Promise<string | undefined>
  /** LICENSE_ERROR unless the license covers these codecs, which a pipeline encodes to. */
  requireCodecs(codecs: readonly Codec[]): Promise<void>
  /**
   * As `requireCodecs`, and reserves a stream for a start; LICENSE_LIMIT_EXCEEDED when none is left. A running pipeline counts once.
   * `codecs`: what a dry run has found already.
   */
  takeSlot(config: PipelineConfig, codecs?: readonly Codec[]): Promise<Slot>
}

const UNLIMITED: Slot = { release: () => undefined }

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

  const takeInTurn = async (id: string, codecs: readonly Codec[], current: LicenseState): Promise<Slot> => {
    // A start that finishes during the call of `list` may be in neither: count what was reserved before the call too.
    const counted = new Set(reserved.keys())
    for (const view of await deps.engine.list()) if (!isAtRest(view)) counted.add(view.id)
    for (const id of reserved.keys()) counted.add(id)
    if (counted.has(id)) return reserve(id)
    requireLicense(current, codecs, counted.size)
    return reserve(id)
  }

  return {
    state,
    fault: () => licenseFault(deps.source, deps.clock),
    requireCodecs: async (codecs) => requireCodecs(await state(), codecs),
    takeSlot: async (config, known) => {
      const current = await state()
      if (current.status === 'unlimited') return UNLIMITED
      const codecs = known ?? (await licensedCodecs(current, deps.engine, config))
      const taken = turn.then(() => takeInTurn(config.id, codecs, current))
      turn = taken.catch(() => undefined)
      return taken
    },
  }
}
