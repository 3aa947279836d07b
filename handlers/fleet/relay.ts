import type { Admission } from '../../lib/access/access.ts'
import { ApiError } from '../../lib/errors.ts'
import { type FleetHosts, fleetAnswerSchema, fleetRequestSchema, requireAllowed } from '../../lib/fleet/fleet-hosts.ts'
import { FLEET_ANSWER } from '../../lib/openapi/examples.ts'
import { jsonAnswer } from '../../lib/openapi/operation.ts'
import type { Log } from '../../lib/ports.ts'
import { redact } from '../../lib/redact.ts'
import { validate } from '../../lib/validate.ts'
import { readJson } from '../http/body.ts'
import { json } from '../http/respond.ts'
import { route } from '../http/route.ts'

export interface RelayDeps {
  readonly fleetHosts?: (() => FleetHosts | undefined) | undefined
  readonly log: Log
}

/** Throws NOT_FOUND on a host that has joined none. */
export const fleetOf = ({ fleetHosts }: RelayDeps): FleetHosts => {
  const hosts = fleetHosts?.()
  if (hosts !== undefined) return hosts
  throw new ApiError('NOT_FOUND', 'This host has joined no fleet. Set SVC_NATS_URL to join one.', { reason: 'no_fleet' })
}

export const relayRoutes = (deps: RelayDeps) => [
  route({
    method: 'POST',
    path: '/svc/fleet/hosts/:host/request',
    access: 'session',
    operation: 'callFleetHost',
    summary: 'Send a request to the API of another host of the fleet',
    description:
      'The host answers with the rights of its API key; its answer, also an error, is in the body of this one. 403 with details.reason fleet_refused where the user of this host at the servers may not ask, fleet_read_only for anything but GET and HEAD without SVC_FLEET_CONTROL=1, fleet_needs_password while this host has no password, fleet_relay for a request that would go on to another host. 404 for an unknown host; 503 with details.reason host_not_linked or host_does_not_answer.',
    status: 200,
    errors: ['NOT_FOUND', 'PAYLOAD_TOO_LARGE', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE'],
    body: {
      schema: fleetRequestSchema,
      examples: { list: { path: '/svc/pipeline' }, play: { method: 'PUT', path: '/svc/pipeline/gate/play' } },
    },
    answer: jsonAnswer('The answer of the host', fleetAnswerSchema, { played: FLEET_ANSWER }),
    handle: async ({ request, params: { host = '' }, admission }) => {
      const fleet = fleetOf(deps)
      requireCredential(admission)
      const wanted = validate(fleetRequestSchema, await readJson(request), 'request')
      requireAllowed(wanted, fleet)
      const answer = await fleet.call(host, wanted, request.signal)
      if (wanted.method !== 'GET' && wanted.method !== 'HEAD')
        deps.log.info('fleet_host_changed', { host, method: wanted.method, path: redact(wanted.path), status: answer.status })
      return json(answer)
    },
  }),
]

/** Other hosts may have passwords: an open one is no way around them. */
const requireCredential = ({ by }: Admission): void => {
  if (by !== 'nothing') return
  throw new ApiError('FORBIDDEN', 'This host has no password, so it asks no other host for you. Set one, or send the API key.', {
    reason: 'fleet_needs_password',
  })
}
