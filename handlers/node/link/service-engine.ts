import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Configuration } from '../../../lib/configuration/configuration.ts'
import { createEngineCaller } from '../../../lib/engine/caller.ts'
import { createEngineClient } from '../../../lib/engine/client.ts'
import { EngineAvailability } from '../../../lib/engine/engine-availability.ts'
import { EngineMirror } from '../../../lib/engine/mirror.ts'
import type { EngineLink, LinkOptions } from './engine-link.ts'
import { linkRemoteEngine } from './remote.ts'
import { keepSidecar } from './sidecar.ts'

interface SidecarPlace {
  readonly dataDir: string
  /** Of an own engine. */
  readonly environment: NodeJS.ProcessEnv
}

export type ServiceEngine = ReturnType<typeof createServiceEngine>

/** The engine of a service: its clients, its views, and the link that finds or starts it. */
export const createServiceEngine = ({ engineUrl, engineToken = '' }: Configuration, place: SidecarPlace) => {
  const availability = new EngineAvailability()
  // An engine that runs elsewhere may have other API processes too.
  const mirror = new EngineMirror({ exclusive: engineUrl === undefined })
  let link: EngineLink | undefined
  const caller = createEngineCaller({
    address: availability.address,
    fetch: (url, init) => (link?.fetch ?? fetch)(url, init),
    onAnswer: (moment) => mirror.noteAnswer(moment),
  })
  return {
    mirror,
    /** Its calls wait while the engine is started or replaced. */
    client: createEngineClient(caller, availability),
    /** Its calls fail at once while no engine is there. */
    clientAtOnce: createEngineClient(caller),
    /** Settles when the engine is ready, or the first attempt has failed (attempts continue). */
    connect: (handlers: Omit<LinkOptions, 'availability' | 'mirror'>): Promise<void> => {
      const options = { ...handlers, availability, mirror }
      link =
        engineUrl === undefined
          ? keepSidecar({ ...options, dataDir: place.dataDir, entry: ENTRY, environment: engineEnvironment(place) })
          : linkRemoteEngine({ url: engineUrl, token: engineToken }, options)
      return link.first
    },
    refuseToWait: () => availability.refuseToWait(),
    /** Ends an own engine, or leaves it running. */
    end: async (how: 'stop' | 'leave'): Promise<void> => link?.[how](),
    kill: () => link?.kill(),
  }
}

/** Beside the bundle of the service. */
const ENTRY = join(dirname(fileURLToPath(import.meta.url)), 'engine.js')

/** The environment of the engine, without the secrets and settings that only the API needs. */
const engineEnvironment = ({ environment, dataDir }: SidecarPlace): NodeJS.ProcessEnv => {
  const {
    SVC_API_KEY,
    SVC_PASSWORD,
    SVC_MEDIA_SERVER_API,
    SVC_ENGINE_LISTEN,
    SVC_DATABASE_URL,
    SVC_DATABASE_AUTH_TOKEN,
    SVC_LICENSE_FILE,
    SVC_PIPELINES,
    SVC_NATS_URL,
    SVC_NATS_CREDENTIALS,
    ...rest
  } = environment
  return { ...rest, SVC_DATA_DIR: dataDir }
}
