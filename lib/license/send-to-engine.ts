import type { EngineCaller } from '../engine/client.ts'
import { messageOf } from '../errors.ts'
import type { Clock, Log } from '../ports.ts'
import { type LicenseSource, readLicense } from './license.ts'

interface LicenseSender {
  /** Sends the license to an engine, before that starts any pipeline. Throws SERVICE_UNAVAILABLE. */
  send(caller: EngineCaller): Promise<void>
  /** Sends the license again when it has changed; a failure is logged. */
  refresh(): Promise<void>
}

/** Keeps the engine's copy of the license up to date: the engine starts on-demand pipelines for their readers by itself. */
export const createLicenseSender = ({ source, clock, log }: { source: LicenseSource; clock: Clock; log: Log }): LicenseSender => {
  let caller: EngineCaller | undefined
  let sent: string | undefined

  const send = async (to: EngineCaller): Promise<void> => {
    const state = await readLicense(source, clock)
    const text = JSON.stringify(state)
    if (to === caller && text === sent) return
    await to.call('PUT', '/license', state)
    caller = to
    sent = text
  }
  return {
    send,
    refresh: async () => {
      if (caller === undefined) return
      await send(caller).catch((error: unknown) => log.warn('license_not_sent', { error: messageOf(error) }))
    },
  }
}
