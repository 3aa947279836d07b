import { Backoff } from '../../../lib/backoff.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { ApiEvent } from '../../../lib/events/replay-buffer.ts'
import type { DesiredReport, Drift } from '../../../lib/fleet/actual.ts'
import { isRecord } from '../../../lib/json/is-record.ts'
import type { Log } from '../../../lib/ports.ts'
import { redact } from '../../../lib/redact.ts'
import type { Client } from '../../client/client.ts'
import { readHeld, writeHeld } from './document-file.ts'
import { type Document, reconcile } from './reconcile.ts'

/** After a change on this host, milliseconds: a person may change more. Longer, when changing it back does not help. */
const REVERT = { initial_delay_ms: 500, max_delay_seconds: 300 }
/** After a failure. */
const RETRY = { initial_delay_ms: 1000, max_delay_seconds: 300 }
/** A document is kept in its file after this time, with what became of it, milliseconds: one write for each. */
const KEEP_AFTER_MS = 1000
/** What changes while a document is applied is reported with its end, unless that takes longer. Milliseconds. */
const HELD_MS = 1000

interface Options {
  readonly client: Client
  /** Where the last document is kept. */
  readonly file: string
  /** Resolves when engine and database can be used. */
  readonly ready: Promise<unknown>
  /** Called with each change of the report; resolves when it is stored, or soon. */
  readonly onReport: () => Promise<void>
  readonly log: Log
  readonly signal: AbortSignal
}

/** Keeps this host as its document declares. */
export class DesiredState {
  readonly #options: Options
  #document: Document | null
  /** The document that holds; a change is drift from then on. */
  #applied: Document | null
  #appliedRevision: number | null
  #error: string | null = null
  #drift: readonly Drift[] = []
  #settingsEtag: string | undefined
  readonly #versions = new Map<string, string>()
  readonly #reverts = new Backoff()
  readonly #retries = new Backoff()
  #turn: Promise<unknown>
  #isQueued = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #keepTimer: ReturnType<typeof setTimeout> | undefined
  #due = Number.POSITIVE_INFINITY
  /** performance.now(); -Infinity while nothing is applied. */
  #applyingSince = Number.NEGATIVE_INFINITY
  /** Something waits to be reported with the end of what is applied. */
  #isHeld = false
  /** The last report, as JSON. */
  #reported = ''

  constructor(options: Options) {
    const { document, appliedRevision } = readHeld(options.file)
    this.#options = options
    this.#document = document
    this.#appliedRevision = appliedRevision
    this.#applied = document !== null && document.revision === appliedRevision ? document : null
    this.#turn = options.ready.catch(() => {})
  }

  report(): DesiredReport {
    return {
      desired_revision: this.#document?.revision ?? null,
      applied_revision: this.#appliedRevision,
      error: this.#error,
      drift: this.#drift,
    }
  }

  /** Whether a change need not be reported by itself, since what is being applied is reported in a moment. */
  holdsReport(): boolean {
    const isHeld = performance.now() - this.#applyingSince < HELD_MS
    this.#isHeld ||= isHeld
    return isHeld
  }

  async #tell(): Promise<void> {
    const report = JSON.stringify(this.report())
    if (report === this.#reported && !this.#isHeld) return
    this.#reported = report
    this.#isHeld = false
    await this.#options.onReport()
  }

  /** Revision of the document; null without one. */
  get revision(): number | null {
    return this.#document?.revision ?? null
  }

  /** Applies the document that the store has, also when it is the same. */
  take(stored: Document): void {
    const isSame = stored.revision === this.#document?.revision && stored.text === this.#document.text
    if (!isSame) {
      // A store that was replaced by an empty one counts from 1 again: the number may be that of another document.
      if (stored.revision <= (this.#appliedRevision ?? 0)) this.#appliedRevision = null
      this.#document = stored
      this.#error = null
      this.#keepSoon()
    }
    this.#retries.reset()
    this.#applySoon(0)
  }

  /** The store has no document for this host, which stays as it is. */
  release(isDeleted: boolean): void {
    this.#document = null
    this.#applied = null
    this.#drift = []
    this.#error =
      isDeleted || this.#appliedRevision === null
        ? null
        : `The store has no document for this host, which keeps what revision ${this.#appliedRevision} declared. Store its document again.`
    this.#keepSoon()
    void this.#tell()
  }

  /** Applies what was held by the last process. */
  resume(): void {
    if (this.#document !== null) this.#applySoon(0)
  }

  /** Notices a change of the configuration, or of what a person wants to play. */
  onEvent({ event, pipelineId, data }: ApiEvent): void {
    if (pipelineId === undefined || !(event === 'pipeline_status' || event === 'pipeline_not_found')) return
    const version = event === 'pipeline_status' ? versionOf(data) : undefined
    if (version === this.#versions.get(pipelineId)) return
    if (version === undefined) this.#versions.delete(pipelineId)
    else this.#versions.set(pipelineId, version)
    this.#applySoon(this.#reverts.next(REVERT))
  }

  onSettings(): void {
    this.#applySoon(this.#reverts.next(REVERT))
  }

  /** Settles when what holds is kept, and nothing is being applied any more. */
  async ended(): Promise<void> {
    clearTimeout(this.#timer)
    // What is still being applied counts as not applied.
    if (this.#keepTimer !== undefined) this.#keep()
    await this.#turn
  }

  #applySoon(delayMs: number): void {
    const due = performance.now() + delayMs
    if (this.#document === null || this.#options.signal.aborted || due >= this.#due) return
    clearTimeout(this.#timer)
    this.#due = due
    this.#timer = setTimeout(() => this.#enqueue(), delayMs)
  }

  #enqueue(): void {
    this.#due = Number.POSITIVE_INFINITY
    if (this.#isQueued) return
    this.#isQueued = true
    this.#turn = this.#turn.then(async () => {
      this.#isQueued = false
      const document = this.#document
      if (document === null || this.#options.signal.aborted) return
      this.#applyingSince = performance.now()
      await this.#apply(document).catch((error: unknown) => this.#onFailure(messageOf(error)))
      this.#applyingSince = Number.NEGATIVE_INFINITY
      await this.#tell()
    })
  }

  async #apply(document: Document): Promise<void> {
    const wasApplied = this.#applied === document
    const onDrift = async (drift: readonly Drift[]): Promise<void> => {
      this.#options.log.info('fleet_drift_found', {
        pipelines: drift.flatMap(({ id }) => id ?? []),
        settings: drift.some(({ id }) => id === null),
      })
      this.#drift = drift
      await this.#tell()
    }
    const outcome = await reconcile(document, {
      ...this.#options,
      onDrift: wasApplied ? onDrift : undefined,
      settingsEtag: this.#settingsEtag,
    })
    // A newer one has come meanwhile, and has its turn next.
    if (this.#document !== document || this.#options.signal.aborted) return
    this.#settingsEtag = outcome.settingsEtag
    this.#drift = outcome.drift
    if (!outcome.isApplied) {
      this.#error = outcome.error
      this.#options.log.warn('fleet_document_not_applied', { revision: document.revision, error: outcome.error })
      if (outcome.mayPass) this.#applySoon(this.#retries.next(RETRY))
      return
    }
    if (!wasApplied) this.#options.log.info('fleet_document_applied', { revision: document.revision, changed: outcome.changed })
    this.#error = null
    this.#retries.reset()
    if (outcome.changed === 0) this.#reverts.reset()
    this.#applied = document
    if (this.#appliedRevision !== document.revision) {
      this.#appliedRevision = document.revision
      this.#keepSoon()
    }
  }

  #onFailure(message: string): void {
    this.#error = redact(message)
    this.#applySoon(this.#retries.next(RETRY))
  }

  #keepSoon(): void {
    this.#keepTimer ??= setTimeout(() => this.#keep(), KEEP_AFTER_MS)
  }

  #keep(): void {
    clearTimeout(this.#keepTimer)
    this.#keepTimer = undefined
    try {
      writeHeld(this.#options.file, { document: this.#document, appliedRevision: this.#appliedRevision })
    } catch (error) {
      this.#options.log.warn('fleet_document_not_kept', { error: messageOf(error) })
    }
  }
}

/** Changes with the configuration, and with what a person wants to play; undefined for a pipeline of a trigger. */
const versionOf = (data: unknown): string | undefined => {
  if (!isRecord(data) || data.ephemeral === true) return undefined
  const desired = isRecord(data.runtime) ? data.runtime.desired : undefined
  return `${String(data.updated_at)} ${String(desired)}`
}
