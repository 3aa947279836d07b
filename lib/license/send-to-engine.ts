import type { EngineClient } from '../engine/protocol.ts'
import { messageOf } from '../errors.ts'
import type { Clock, Log } from '../ports.ts'
import { LICENSE_ADVICE, type LicenseSource, licenseFault, readLicense } from './license.ts'

type LicensedEngine = Pick<EngineClient, 'license'>

interface LicenseSender {
  /** Sends the license to a new engine, before it starts a pipeline. Throws SERVICE_UNAVAILABLE. */
  send(engine: LicensedEngine): Promise<void>
  /** Sends and logs the license when it has changed; true when it differs from the last call. A failure is logged. */
  refresh(): Promise<boolean>
}

/** Keeps the engine's copy of the license up to date, which it checks when a reader starts an on-demand pipeline. */
export const createLicenseSender = ({ source, clock, log }: { source: LicenseSource; clock: Clock; log: Log }): LicenseSender => {
  let engine: LicensedEngine | undefined
  let sent: string | undefined
  let known: string | undefined

  const send = async (to: LicensedEngine): Promise<void> => {
    const state = await readLicense(source, clock)
    const text = JSON.stringify(state)
    if (to === engine && text === sent) return
    await to.license.set(state)
    engine = to
    sent = text
    known ??= text
  }
  const logChange = async (): Promise<void> => {
    const { status } = await readLicense(source, clock)
    if (status === 'valid' || status === 'unlimited') return log.info('license_changed', { status })
    log.warn(`license_${status}`, { reason: await licenseFault(source, clock), advice: LICENSE_ADVICE })
  }
  return {
    send,
    refresh: async () => {
      if (engine === undefined) return false
      await send(engine).catch((error: unknown) => log.warn('license_not_sent', { error: messageOf(error) }))
      const isNew = sent !== known
      known = sent
      if (isNew) await logChange()
      return isNew
    },
  }
}
