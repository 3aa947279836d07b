import type { EngineClient } from '../engine/protocol.ts'
import type { Clock, Log } from '../ports.ts'
import { type LicenseSource, readLicense } from './license.ts'

type LicensedEngine = Pick<EngineClient, 'license'>

export interface EngineLicense {
  /** Sends the license to an engine before it starts anything. Throws SERVICE_UNAVAILABLE. */
  send(engine: LicensedEngine): Promise<void>
  /** Reads the license again, and sends it to the engine if it has changed. */
  refresh(): Promise<void>
}

/** Keeps the engine's copy of the license up to date: it starts on-demand pipelines by itself, with or without an API process. */
export const createEngineLicense = ({ source, clock, log }: { source: LicenseSource; clock: Clock; log: Log }): EngineLicense => {
  let engine: LicensedEngine | undefined
  let sent: string | undefined

  const send = async (to: LicensedEngine): Promise<void> => {
    const state = await readLicense(source, clock)
    const text = JSON.stringify(state)
    if (to === engine && text === sent) return
    await to.license.set(state)
    engine = to
    sent = text
  }
  return {
    send,
    refresh: async () => {
      if (engine === undefined) return
      await send(engine).catch((error: unknown) =>
        log.warn('license_not_sent', { error: error instanceof Error ? error.message : String(error) }),
      )
    },
  }
}
