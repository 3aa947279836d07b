import { ApiError } from '../errors.ts'
import { createKeyedSlots, Tally } from '../slots.ts'
import { boundOf, clientOf } from './client-of.ts'

/** What one client may have at the same time. Clients without an address are not limited, since nothing distinguishes them. */
export interface ClientLimits {
  /** Counts an open stream until the returned function is called; RATE_LIMITED when the client has too many. */
  openStream(clientAddress: string | undefined): () => void
  /** Runs a dry run when the client has a slot free; RATE_LIMITED when too many wait. */
  dryRun<T>(clientAddress: string | undefined, job: () => Promise<T>): Promise<T>
}

/** Bounds per client address. */
const BOUNDS = { streams: 64, dryRuns: 4, waitingDryRuns: 16 }

export const createClientLimits = (bounds = BOUNDS): ClientLimits => {
  const streams = new Tally()
  const dryRuns = createKeyedSlots((client) => ({
    running: boundOf(client, bounds.dryRuns),
    waiting: boundOf(client, bounds.waitingDryRuns),
    refusal: () => tooMany('Too many checks and tests of pipelines wait. Try again in a moment.'),
  }))
  return {
    openStream(clientAddress) {
      if (clientAddress === undefined) return () => {}
      const client = clientOf(clientAddress)
      const bound = boundOf(client, bounds.streams)
      if (streams.of(client) >= bound) throw tooMany(`This client has ${bound} open streams. Close one, or try again in a moment.`)
      return streams.add(client)
    },
    dryRun: (clientAddress, job) => (clientAddress === undefined ? job() : dryRuns(clientOf(clientAddress), job)),
  }
}

const RETRY_SECONDS = 1

const tooMany = (message: string): ApiError => new ApiError('RATE_LIMITED', message, { retry_after_seconds: RETRY_SECONDS })
