import * as v from 'valibot'
import { count, described } from './primitives.ts'

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
  sandbox: v.optional(
    described(v.picklist(['on', 'off', 'unavailable']), 'How GStreamer processes are confined; absent while the engine is unavailable'),
  ),
  license: v.optional(
    described(v.picklist(['valid', 'expired', 'unreadable']), 'State of the license file; absent without a license file'),
  ),
  warnings: v.optional(
    described(v.array(v.picklist(['open_api'])), 'open_api: other hosts reach the API and no password is set; absent without warnings'),
  ),
})

export const probeSchema = v.object({ status: v.picklist(['ok', 'stopping']) })

export const versionSchema = v.object({
  name: v.string(),
  version: v.string(),
  api_version: described(v.literal('1'), 'Changes only with incompatible changes of the API'),
  engine: v.object({ name: v.literal('gstreamer'), version: described(v.nullable(v.string()), 'null while the engine is unavailable') }),
})
