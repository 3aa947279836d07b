import type { Configuration } from '../../lib/configuration/configuration.ts'
import type { EngineEvent } from '../../lib/engine/messages.ts'
import { pause } from '../../lib/pause.ts'
import type { Log } from '../../lib/ports.ts'
import { createMediaServerApi } from '../../lib/triggers/media-server-api.ts'
import type { Triggers } from '../../lib/triggers/triggers.ts'
import { type Watch, watchMediaServer } from '../../lib/triggers/watch.ts'

/** Time to finish when the service ends; the next start removes the rest. Milliseconds. */
const END_WITHIN_MS = 2000

interface PathWatchDeps {
  readonly triggers: Triggers
  readonly log: Log
  /** Ends the watch. */
  readonly signal: AbortSignal
}

/** The watch of a media server, which begins with the first engine; without SVC_MEDIA_SERVER_API it does nothing. */
export interface PathWatch {
  begin(): void
  onEvent(event: EngineEvent): void
  /** Settles when it has ended, or soon. */
  ended(): Promise<void>
}

export const createPathWatch = ({ mediaServerApi, mediaServerPaths }: Configuration, deps: PathWatchDeps): PathWatch => {
  let watch: Watch | undefined
  return {
    begin: () => {
      if (mediaServerApi === undefined || deps.signal.aborted) return
      watch ??= watchMediaServer({ ...deps, api: createMediaServerApi(mediaServerApi), paths: mediaServerPaths })
    },
    onEvent: (event) => watch?.onEvent(event),
    ended: async () => {
      const done = new AbortController()
      await Promise.race([watch?.ended, pause(END_WITHIN_MS, done.signal)])
      done.abort()
    },
  }
}
