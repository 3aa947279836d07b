import { ApiError } from '../errors.ts'
import { createSlots, type Slots } from '../slots.ts'
import { clientOf } from './rate-limit.ts'

/** What one client may have at the same time. A client without an address is not limited: nothing tells it from others. */
export interface ClientLimits {
  /** Counts an open stream until the returned function is called; RATE_LIMITED when the client has too many. */
  openStream(clientAddress: string | undefined): () => void
  /** Runs a dry run when the client has a slot free; RATE_LIMITED when too many wait. */
  dryRun<T>(clientAddress: string | undefined, job: () => Promise<T>): Promise<T>
}

/** Bounds per client address. */
const BOUNDS = { streams: 64, dryRuns: 4, waitingDryRuns: 16 }

/** Scripts, and proxies that SVC_TRUST_PROXY does not name, share the addresses of the host itself. */
const LOOPBACK_FACTOR = 4

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|0:0:0:0::\/64)$/

/** Whether a client, given as `clientOf` names it, is this host. */
export const isThisHost = (client: string): boolean => LOOPBACK.test(client)

/** The bound of a client, given as `clientOf` names it. */
export const boundOf = (client: string, bound: number): number => (isThisHost(client) ? bound * LOOPBACK_FACTOR : bound)

export const createClientLimits = (bounds = BOUNDS): ClientLimits => {
  const streams = new Map<string, number>()
  const dryRuns = new Map<string, Slots>()

  const slotsOf = (client: string): Slots => {
    const slots =
      dryRuns.get(client) ??
      createSlots({
        running: boundOf(client, bounds.dryRuns),
        waiting: boundOf(client, bounds.waitingDryRuns),
        refusal: () => tooMany('Too many checks of advanced pipelines wait. Try again in a moment.'),
      })
    dryRuns.set(client, slots)
    return slots
  }

  return {
    openStream(clientAddress) {
      if (clientAddress === undefined) return () => {}
      const client = clientOf(clientAddress)
      const open = streams.get(client) ?? 0
      const bound = boundOf(client, bounds.streams)
      if (open >= bound) throw tooMany(`This client has ${bound} open streams. Close one, or try again in a moment.`)
      streams.set(client, open + 1)
      let released = false
      return () => {
        if (released) return
        released = true
        const left = (streams.get(client) ?? 1) - 1
        if (left === 0) streams.delete(client)
        else streams.set(client, left)
      }
    },
    async dryRun(clientAddress, job) {
      if (clientAddress === undefined) return job()
      const client = clientOf(clientAddress)
      const slots = slotsOf(client)
      try {
        return await slots.run(job)
      } finally {
        if (slots.idle) dryRuns.delete(client)
      }
    },
  }
}

const RETRY_SECONDS = 1

const tooMany = (message: string): ApiError => new ApiError('RATE_LIMITED', message, { retry_after_seconds: RETRY_SECONDS })
