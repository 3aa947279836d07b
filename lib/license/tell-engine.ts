import type { EngineCaller } from '../engine/client.ts'
import type { Clock, Log } from '../ports.ts'
import { type LicenseSource, type LicenseState, readLicense } from './license.ts'

export interface LicenseWatch {
  /** Tells an engine the license before it starts anything. Throws SERVICE_UNAVAILABLE. */
  begin(caller: EngineCaller): Promise<void>
  /** Looks whether the license has changed, and tells the engine of it. */
  look(): Promise<void>
}

/** Keeps the engine told of the license: it starts on-demand pipelines for their readers by itself, whether an API process lives or not. */
export const createLicenseWatch = ({ source, clock, log }: { source: LicenseSource; clock: Clock; log: Log }): LicenseWatch => {
  let caller: EngineCaller | undefined
  let told: string | undefined

  const tell = async (to: EngineCaller): Promise<void> => {
    const state: LicenseState = await readLicense(source, clock)
    const text = JSON.stringify(state)
    if (to === caller && text === told) return
    await to.call('PUT', '/license', state)
    caller = to
    told = text
  }
  return {
    begin: tell,
    look: async () => {
      if (caller === undefined) return
      await tell(caller).catch((error: unknown) =>
        log.warn('license_not_told', { error: error instanceof Error ? error.message : String(error) }),
      )
    },
  }
}
