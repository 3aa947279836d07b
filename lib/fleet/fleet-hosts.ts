import * as v from 'valibot'
import { ApiError } from '../errors.ts'
import { described } from '../schema/primitives.ts'
import type { StoredReport } from './reported-host.ts'

/** A request to the API of a host of the fleet. */
export const fleetRequestSchema = v.strictObject({
  method: v.optional(
    described(v.picklist(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], 'Use a method of HTTP in capital letters'), 'Method of HTTP'),
    'GET',
  ),
  path: described(
    v.pipe(v.string('Use a string'), v.startsWith('/svc/', 'Use a path that begins with /svc/'), v.maxLength(8192, 'Use a shorter path')),
    'Path and query, such as /svc/pipeline',
  ),
  headers: v.optional(
    described(v.record(v.string(), v.string('Use a string')), 'Header fields, such as if-match; credentials are left out'),
    {},
  ),
  body: v.optional(described(v.unknown(), 'A JSON value or a text; null for none'), null),
})
export type FleetRequest = v.InferOutput<typeof fleetRequestSchema>

/** An answer of the API as a message: the body is a JSON value or a text, or base64 of any other bytes. */
export const fleetAnswerSchema = v.object({
  status: described(v.pipe(v.number(), v.integer()), 'Status of HTTP'),
  headers: described(v.record(v.string(), v.string()), 'Header fields'),
  body: described(v.unknown(), 'A JSON value, a text, or null'),
  encoding: v.optional(described(v.literal('base64'), 'The body is base64 of other bytes, such as a picture')),
})
export type FleetAnswer = Readonly<v.InferOutput<typeof fleetAnswerSchema>>

/** The other hosts of the fleet, as far as the servers let this one see and call them. */
export interface FleetHosts {
  /** Name of this host. */
  readonly own: string
  /** Whether callers of this host may change others. */
  readonly control: boolean
  /** Throws FORBIDDEN when the servers refuse, SERVICE_UNAVAILABLE without a link. */
  list(): Promise<readonly StoredReport[]>
  /** As above; NOT_FOUND for an unknown host, SERVICE_UNAVAILABLE for one that does not answer. */
  call(host: string, request: FleetRequest, signal: AbortSignal): Promise<FleetAnswer>
}

/** Of requests to other hosts again, which would reach them with the rights of the host between. */
const RELAY = '/svc/fleet/'

/** Whether a path, which may have dot segments, leads to other hosts again. */
export const isRelayed = (path: string): boolean => new URL(path, 'http://host').pathname.startsWith(RELAY)

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Throws FORBIDDEN for what no caller may do to another host, or only where this host is set to control others. */
export const requireAllowed = ({ method, path }: FleetRequest, { control }: Pick<FleetHosts, 'control'>): void => {
  if (isRelayed(path)) throw new ApiError('FORBIDDEN', 'Ask the fleet by this host alone.', { reason: 'fleet_relay' })
  if (!control && !READS.has(method))
    throw new ApiError('FORBIDDEN', 'Other hosts can only be read by this one. Set SVC_FLEET_CONTROL=1 on it to change them too.', {
      reason: 'fleet_read_only',
    })
}
