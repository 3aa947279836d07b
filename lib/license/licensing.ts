import type { Engine } from '../engine/protocol.ts'
import type { Clock } from '../ports.ts'
import type { LicenseState } from '../schema/license.ts'
import { type Codec, isAtRest, type PipelineConfig } from '../schema/pipeline.ts'
import { createReservations, type Reservation } from '../slots.ts'
import { type LicenseSource, licensedCodecs, licenseFault, readLicense, requireCodecs, requireLicense } from './license.ts'

export interface Licensing {
  state(): Promise<LicenseState>
  /** As `licenseFault`. */
  fault(): Promise<string | undefined>
  /** LICENSE_ERROR unless the license covers these codecs, which a pipeline encodes to. */
  requireCodecs(codecs: readonly Codec[]): Promise<void>
  /**
   * As `requireCodecs`, and reserves a stream for a start, until the engine itself reports the start; LICENSE_LIMIT_EXCEEDED when
   * none is left. A running pipeline counts once. `codecs`: those of an earlier dry run.
   */
  takeSlot(config: PipelineConfig, codecs?: readonly Codec[]): Promise<Reservation>
}

const UNLIMITED: Reservation = { release: () => undefined }

/** Counts running pipelines exactly, also while many start at once. */
export const createLicensing = ({ source, engine, clock }: { source: LicenseSource; engine: Engine; clock: Clock }): Licensing => {
  const state = () => readLicense(source, clock)
  const reserve = createReservations()
  return {
    state,
    fault: () => licenseFault(source, clock),
    requireCodecs: async (codecs) => requireCodecs(await state(), codecs),
    takeSlot: async (config, known) => {
      const current = await state()
      if (current.status === 'unlimited') return UNLIMITED
      const codecs = known ?? (await licensedCodecs(current, engine, config))
      return reserve(config.id, async () => ({
        taken: (await engine.list()).filter((view) => !isAtRest(view)).map(({ id }) => id),
        requireFree: (running) => requireLicense(current, codecs, running),
      }))
    },
  }
}
