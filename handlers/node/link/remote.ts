import { createEngineCaller, type EngineAddress } from '../../../lib/engine/caller.ts'
import { greetEngine } from '../../../lib/engine/handshake.ts'
import { createEngineConnections } from './connections.ts'
import { EngineLink, type LinkOptions } from './engine-link.ts'

/** The engine sends a heartbeat every second; when four are missing the link is down. */
const SILENCE_MS = 4000
/** Longest pause between two attempts, and longest wait for one: together below the 2 s that the API takes to recover. */
const MAX_PAUSE_MS = 400
const GREETING_MS = 1000

/** Links an engine that runs elsewhere: it is not started or ended here, and the network between may be cut at any time. */
export const linkRemoteEngine = (address: EngineAddress, options: LinkOptions): EngineLink => {
  const connections = createEngineConnections()
  const caller = createEngineCaller({ address: () => address, fetch: connections.fetch })
  return new EngineLink(
    {
      obtain: async () => {
        // After a cut a connection attempt may hang.
        const timer = setTimeout(connections.drop, GREETING_MS)
        try {
          return { address, found: (await greetEngine(caller)).configured }
        } finally {
          clearTimeout(timer)
        }
      },
      end: async () => {},
      fetch: connections.fetch,
      onLost: connections.drop,
      silenceMs: SILENCE_MS,
      maxPauseMs: MAX_PAUSE_MS,
    },
    options,
  )
}
