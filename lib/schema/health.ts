import * as v from 'valibot'
import { count, described } from './primitives.ts'

/** What is wrong on the host of the engine, and how health describes it. */
const HOST_WARNINGS = {
  output_address: 'SVC_OUTPUT_HOST is no address of this host',
  output_ports: 'SVC_OUTPUT_PORTS is one port, which the API or the watched media server uses too',
  output_certificate: 'the certificate of the outputs cannot be read, does not fit its key, or has expired',
  file_sources_folder: 'the folder of SVC_ALLOW_FILE_SOURCES is missing',
} as const
export type HostWarning = keyof typeof HOST_WARNINGS
const HOST_WARNING_NAMES = Object.keys(HOST_WARNINGS) as HostWarning[]
export const hostWarningSchema = v.picklist(HOST_WARNING_NAMES)

export const HEALTH_WARNINGS = {
  open_api: 'other hosts reach the API and no password is set',
  gstreamer_missing: 'the engine runs without GStreamer, and no pipeline can play',
  disk_full: 'the disk of the data directory has less than 64 MB',
  webhook_events_dropped: 'events for a receiver of webhooks were given up in the last 24 hours',
  ...HOST_WARNINGS,
  fleet_not_linked: 'the servers of SVC_NATS_URL are not reached, or refuse the host; it goes on with what was desired last',
}
export type HealthWarning = keyof typeof HEALTH_WARNINGS
const describedWarnings = Object.entries(HEALTH_WARNINGS)
  .map(([name, about]) => `${name}: ${about}`)
  .join('; ')

const fleetState = v.picklist(['off', 'linked', 'waiting'])
export type FleetState = v.InferOutput<typeof fleetState>

const partStatus = v.picklist(['ok', 'unavailable'])

export const healthSchema = v.object({
  status: described(
    v.picklist(['ok', 'degraded']),
    'degraded while the engine or the database is unavailable, or the database is read-only',
  ),
  engine: partStatus,
  database: described(
    v.picklist(['ok', 'busy', 'read_only', 'unavailable']),
    'busy while another program holds it: changes wait, and answer 503 after 5 s. read_only, as on a full disk: pipelines can be read and played, but changes answer 503 with the reason',
  ),
  uptime_seconds: count,
  pipelines: v.object({ total: count, playing: count }),
  fleet: described(fleetState, 'Link to the fleet; off without SVC_NATS_URL, waiting while its servers are not reached'),
  sandbox: v.optional(
    described(v.picklist(['on', 'off', 'unavailable']), 'How GStreamer processes are confined; absent while the engine is unavailable'),
  ),
  license: v.optional(
    described(v.picklist(['valid', 'expired', 'unreadable']), 'State of the license file; absent without a license file'),
  ),
  warnings: v.optional(
    described(v.array(v.picklist(Object.keys(HEALTH_WARNINGS) as HealthWarning[])), `${describedWarnings}. Absent without warnings`),
  ),
})

export const probeSchema = v.object({ status: v.picklist(['ok', 'stopping']) })

export const versionSchema = v.object({
  name: v.string(),
  version: v.string(),
  api_version: described(v.literal('1'), 'Changes only with incompatible changes of the API'),
  engine: v.object({ name: v.literal('gstreamer'), version: described(v.nullable(v.string()), 'null while the engine is unavailable') }),
})
