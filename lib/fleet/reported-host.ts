import * as v from 'valibot'
import { count, described, time } from '../schema/primitives.ts'

/** A host that reported less than this before the newest report is linked: each reports every 30 s. Milliseconds. */
const AWAY_MS = 75_000

const revision = v.nullable(count)

/** Health as a host of any version reports it. */
const reportedHealth = v.object({
  status: v.string(),
  engine: v.string(),
  database: v.string(),
  uptime_seconds: count,
  pipelines: v.object({ total: count, playing: count }),
  fleet: v.string(),
  sandbox: v.optional(v.string()),
  license: v.optional(v.string()),
  warnings: v.optional(v.array(v.string())),
})

const entries = {
  host: described(v.string(), 'Name in the fleet'),
  labels: described(v.record(v.string(), v.string()), 'Labels of the host, by their names'),
  version: described(v.string(), 'Version of the service'),
  at: described(time, 'Time of the report, by the clock of the host'),
  desired_revision: described(revision, 'Revision of the document in the store; null without one'),
  applied_revision: described(revision, 'Revision of the last document that was applied completely'),
  error: described(v.nullable(v.string()), 'Why the document is not applied; null otherwise'),
  drift: described(
    v.array(v.object({ id: v.nullable(v.string()), kind: v.string(), fields: v.array(v.string()) })),
    'What differs from the document: missing, changed, extra, stopped or started pipelines, or settings (id null)',
  ),
  health: described(reportedHealth, 'As /svc/health of the host answers'),
  pipelines: described(
    v.array(v.object({ id: v.string(), state: v.string(), phase: v.string(), updated_at: v.string() })),
    'The pipelines of the host',
  ),
}

/** What a host reports, in the bucket of actual states: it may be another version, or hostile. */
export const reportedHostSchema = v.object(entries)
export type ReportedHost = v.InferOutput<typeof reportedHostSchema>

/** A report as the servers of the fleet have it. */
export interface StoredReport {
  readonly state: ReportedHost
  /** By the clock of the servers, milliseconds since the epoch. */
  readonly storedAt: number
}

/** A host as callers of the API see it. */
export const knownHostSchema = v.object({
  ...entries,
  linked: described(v.boolean(), `Whether it has reported within ${AWAY_MS / 1000} seconds`),
})
type KnownHost = v.InferOutput<typeof knownHostSchema>

/** Hosts with whether they are linked. The clocks of hosts may be wrong: the servers say when a report came, and this host reports too. */
export const knownHosts = (reports: readonly StoredReport[]): readonly KnownHost[] => {
  const newest = reports.reduce((latest, { storedAt }) => Math.max(latest, storedAt), 0)
  return reports.map(({ state, storedAt }) => ({ ...state, linked: newest - storedAt < AWAY_MS }))
}
