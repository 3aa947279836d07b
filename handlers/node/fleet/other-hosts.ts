import { errors } from '@nats-io/transport-node'
import { isFleetHostName } from '../../../lib/configuration/fleet.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { FleetAnswer, FleetHosts, FleetRequest } from '../../../lib/fleet/fleet-hosts.ts'
import type { StoredReport } from '../../../lib/fleet/reported-host.ts'
import { createSlots } from '../../../lib/slots.ts'
import { causesOf, isRefused } from '../nats/causes.ts'
import { readHost, readHosts } from '../nats/hosts.ts'
import { requestHost } from '../nats/request-host.ts'
import type { Linked } from './linked.ts'

/** What was read is the answer for this long, milliseconds: many browsers are one reader. */
const FRESH_MS = 2000
/** A read is answered sooner; a start may take minutes. Milliseconds. */
const ANSWER_WITHIN_MS = { read: 18_000, change: 310_000 }
const RUNNING = 16
const WAITING = 128

interface Options {
  readonly own: string
  readonly control: boolean
  /** The present connection; undefined without one. */
  readonly linked: () => Linked | undefined
}

/** The other hosts, with the rights that the user of this one has at the servers. */
export const createOtherHosts = ({ own, control, linked }: Options): FleetHosts => {
  const slots = createSlots({
    running: RUNNING,
    waiting: WAITING,
    refusal: () => new ApiError('RATE_LIMITED', 'This host asks too many others at the moment. Try again later.'),
  })
  const present = (): Linked => {
    const link = linked()
    if (link === undefined) throw notLinked()
    return link
  }
  let read: { readonly at: number; readonly reports: Promise<readonly StoredReport[]> } | undefined
  return {
    own,
    control,
    list: () => {
      const { stores } = present()
      if (read === undefined || performance.now() - read.at > FRESH_MS) {
        const reports = readHosts(stores).catch((error: unknown) => {
          read = undefined
          throw toApiError(error, 'see the other hosts')
        })
        read = { at: performance.now(), reports }
      }
      return read.reports
    },
    call: (host, request, signal) => slots.run(() => call(present(), { host, request, signal })),
  }
}

interface Call {
  readonly host: string
  readonly request: FleetRequest
  readonly signal: AbortSignal
}

const call = async ({ connection, stores, signal: lost }: Linked, { host, request, signal }: Call): Promise<FleetAnswer> => {
  if (!isFleetHostName(host)) throw unknownHost(host)
  const withinMs = request.method === 'GET' || request.method === 'HEAD' ? ANSWER_WITHIN_MS.read : ANSWER_WITHIN_MS.change
  const ended = aborted(AbortSignal.any([signal, lost]))
  try {
    const answer = await Promise.race([requestHost(connection, host, request, withinMs), ended.promise])
    if (answer !== undefined) return answer
  } catch (error) {
    throw toApiError(error, `ask ${host}`)
  } finally {
    ended.release()
  }
  // Without the right to read it, whether there is such a host stays unknown.
  const known = await readHost(stores, host).catch(() => null)
  if (known === undefined) throw unknownHost(host)
  throw new ApiError('SERVICE_UNAVAILABLE', `The host ${host} is not linked now.`, { reason: 'host_not_linked' })
}

const unknownHost = (host: string): ApiError => new ApiError('NOT_FOUND', `The fleet has no host ${host}.`, { reason: 'no_host' })

/** Rejects when the caller or the connection is gone. */
const aborted = (signal: AbortSignal): { readonly promise: Promise<never>; readonly release: () => void } => {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  const end = (): void => reject(notLinked())
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  return { promise, release: () => signal.removeEventListener('abort', end) }
}

const notLinked = (): ApiError =>
  new ApiError('SERVICE_UNAVAILABLE', 'This host is not linked to its fleet now. Try again later.', { reason: 'fleet_not_linked' })

const toApiError = (error: unknown, what: string): unknown => {
  if (error instanceof ApiError) return error
  if (isRefused(error))
    return new ApiError(
      'FORBIDDEN',
      `The servers of the fleet do not let the user of this host ${what}. The page “A fleet” of the documents names the rights.`,
      { reason: 'fleet_refused' },
      { cause: error },
    )
  const causes = causesOf(error)
  if (causes.some((cause) => cause instanceof errors.TimeoutError))
    return new ApiError('SERVICE_UNAVAILABLE', 'No answer came over the fleet in time. Try again later.', {
      reason: 'host_does_not_answer',
    })
  if (causes.some((cause) => cause instanceof errors.ClosedConnectionError || cause instanceof errors.DrainingConnectionError))
    return notLinked()
  if (causes.some((cause) => cause instanceof errors.InvalidArgumentError))
    return new ApiError('PAYLOAD_TOO_LARGE', 'The request does not fit into a message of the fleet.', { reason: 'too_large_for_fleet' })
  return error
}
