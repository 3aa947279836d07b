import type { Labels } from '../configuration/fleet.ts'
import type { readHealth } from '../health/health.ts'
import type { Phase, PipelineState } from '../schema/pipeline.ts'

/** What differs from the document although it was applied: how the pipeline is, or `settings`. */
export interface Drift {
  /** Of a pipeline; null for settings. */
  readonly id: string | null
  readonly kind: 'missing' | 'changed' | 'extra' | 'stopped' | 'started' | 'settings'
  /** The fields that differ, by their dotted paths. */
  readonly fields: readonly string[]
}

/** What the host reports about the desired document. */
export interface DesiredReport {
  /** Revision of the stored document; null when there is none. */
  readonly desired_revision: number | null
  /** Revision of the last document that was applied completely. */
  readonly applied_revision: number | null
  /** Why the stored document is not applied; without credentials. */
  readonly error: string | null
  readonly drift: readonly Drift[]
}

/** The value of a host in the bucket of actual states. */
export interface ActualState extends DesiredReport {
  readonly host: string
  readonly labels: Labels
  readonly version: string
  /** RFC 3339. */
  readonly at: string
  readonly health: Awaited<ReturnType<typeof readHealth>>
  readonly pipelines: readonly {
    readonly id: string
    readonly state: PipelineState
    readonly phase: Phase
    readonly updated_at: string
  }[]
}
