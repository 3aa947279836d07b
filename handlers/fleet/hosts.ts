import * as v from 'valibot'
import type { FleetHosts } from '../../lib/fleet/fleet-hosts.ts'
import { knownHostSchema, knownHosts } from '../../lib/fleet/reported-host.ts'
import { FLEET_HOST } from '../../lib/openapi/examples.ts'
import { jsonAnswer } from '../../lib/openapi/operation.ts'
import { described } from '../../lib/schema/primitives.ts'
import { json } from '../http/respond.ts'
import { route } from '../http/route.ts'
import { fleetOf, type RelayDeps, relayRoutes } from './relay.ts'

const fleetHostsSchema = v.object({
  host: described(v.string(), 'Name of this host'),
  control: described(v.boolean(), 'Whether callers of this host may change the others (SVC_FLEET_CONTROL)'),
  hosts: v.array(knownHostSchema),
})

/** The other hosts of the fleet: how they are, and requests to them. */
export const fleetRoutes = (deps: RelayDeps) => [
  route({
    method: 'GET',
    path: '/svc/fleet/hosts',
    access: 'session',
    operation: 'listFleetHosts',
    summary: 'List the hosts of the fleet with what they report, by name',
    description:
      'What this host may see, its user at the servers of the fleet decides: 403 with details.reason fleet_refused where it may not. 404 with details.reason no_fleet on a host without a fleet.',
    status: 200,
    errors: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    answer: jsonAnswer('The hosts', fleetHostsSchema, { two: { host: 'gate-a', control: false, hosts: [FLEET_HOST] } }),
    handle: async () => json(await listed(fleetOf(deps))),
  }),
  ...relayRoutes(deps),
]

const listed = async (fleet: FleetHosts) => {
  const reports = await fleet.list()
  return { host: fleet.own, control: fleet.control, hosts: knownHosts(reports) }
}
