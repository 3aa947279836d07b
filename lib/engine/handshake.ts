import { ApiError } from '../errors.ts'
import type { Clock } from '../ports.ts'
import type { EngineCaller } from './caller.ts'
import { askEngine } from './client.ts'
import { type EngineGreeting, greetingSchema } from './messages.ts'
import { ENGINE_PROTOCOL, PROTOCOL } from './protocol.ts'

/** Another engine may have come after this: it is greeted again. Milliseconds. */
const AGREED_FOR_MS = 2000

/** The status call as the engine of any version answers it. */
const GREETING = { ...PROTOCOL.engine.status, answer: greetingSchema, patienceMs: 4000 } as const

/** The greeting of an engine of any protocol; throws SERVICE_UNAVAILABLE, after 4 s at the latest. */
export const readGreeting = (caller: EngineCaller): Promise<EngineGreeting> => askEngine(caller, GREETING)

/** As `readGreeting`, of an engine with our protocol; SERVICE_UNAVAILABLE `engine_version` for any other. */
export const greetEngine = async (caller: EngineCaller): Promise<EngineGreeting> => {
  const greeting = await readGreeting(caller)
  if (greeting.protocol === ENGINE_PROTOCOL) return greeting
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    'The media engine is of a version that this service does not work with. Update one of the two.',
    {
      reason: 'engine_version',
      engine: greeting.version,
      protocol: greeting.protocol ?? null,
      wanted_protocol: ENGINE_PROTOCOL,
    },
  )
}

/** When the engine's protocol was last found right; shared by requests. */
export interface Agreement {
  at: number
}

interface HandshakeOptions {
  readonly agreement: Agreement
  readonly clock: Clock
  /** Sends settings and pipelines to an engine that has just started. */
  readonly onFresh: () => Promise<void>
}

/**
 * A caller that greets the engine before the first call and every 2 s of use: refuses a wrong version, and sends settings and
 * pipelines to one that has just started. For runtimes where nothing follows the engine all the time.
 */
export const withHandshake = (caller: EngineCaller, { agreement, clock, onFresh }: HandshakeOptions): EngineCaller => {
  const agree = async (): Promise<void> => {
    if (clock.now() - agreement.at < AGREED_FOR_MS) return
    const { configured } = await greetEngine(caller)
    if (!configured) await onFresh()
    agreement.at = clock.now()
  }
  return async (request) => {
    await agree()
    return caller(request)
  }
}
