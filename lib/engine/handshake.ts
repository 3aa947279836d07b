import { ApiError } from '../errors.ts'
import type { Clock, EngineStatus } from '../ports.ts'
import { ENGINE_PROTOCOL, type EngineCaller } from './client.ts'

/** Longest wait for the greeting of an engine, milliseconds. */
const GREETING_MS = 4000
/** An engine that agreed is asked again after this, milliseconds: it may be another one by then. */
const AGREED_FOR_MS = 2000

/** Throws SERVICE_UNAVAILABLE `engine_version` when the engine speaks another protocol than this program. */
export const assertProtocol = ({ protocol, version }: Pick<EngineStatus, 'protocol' | 'version'>): void => {
  if (protocol === ENGINE_PROTOCOL) return
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    'The media engine is of a version that this service does not work with. Update one of the two.',
    {
      reason: 'engine_version',
      engine: version,
      protocol: protocol ?? null,
      wanted_protocol: ENGINE_PROTOCOL,
    },
  )
}

/** The status of an engine that speaks our protocol; throws SERVICE_UNAVAILABLE, after 4 s at the latest. */
export const greetEngine = async ({ call }: Pick<EngineCaller, 'call'>): Promise<EngineStatus> => {
  const status = await call<EngineStatus>('GET', '/status', undefined, GREETING_MS)
  assertProtocol(status)
  return status
}

/** When the engine was last found in agreement; outlives the requests that share it. */
export interface Agreement {
  at: number
}

export interface HandshakeOptions {
  readonly agreement: Agreement
  readonly clock: Clock
  /** Hands settings and pipelines to an engine that has just started. */
  readonly onFresh: () => Promise<void>
}

/**
 * A caller that greets the engine before the first call and every 2 s of use: a wrong version is refused, and one that has
 * just started is given what it should hold. For runtimes where nobody watches the engine all the time.
 */
export const withHandshake = (caller: EngineCaller, { agreement, clock, onFresh }: HandshakeOptions): EngineCaller => {
  const agree = async (): Promise<void> => {
    if (clock.now() - agreement.at < AGREED_FOR_MS) return
    const status = await greetEngine(caller)
    if (!status.configured) await onFresh()
    agreement.at = clock.now()
  }
  return {
    call: async (method, path, body, timeoutMs) => {
      await agree()
      return caller.call(method, path, body, timeoutMs)
    },
    open: async (method, path, body, signal) => {
      await agree()
      return caller.open(method, path, body, signal)
    },
  }
}
