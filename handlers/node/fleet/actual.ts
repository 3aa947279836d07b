import type { Labels } from '../../../lib/configuration/fleet.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { ActualState, DesiredReport } from '../../../lib/fleet/actual.ts'
import { ACTUAL_BUCKET, subjectOfKey } from '../../../lib/fleet/names.ts'
import { readHealth } from '../../../lib/health/health.ts'
import { pause, within } from '../../../lib/pause.ts'
import { idleView } from '../../../lib/pipelines/representation.ts'
import type { Log } from '../../../lib/ports.ts'
import type { PipelineRecord } from '../../../lib/repositories/repositories.ts'
import type { AppDeps } from '../../app.ts'
import { mayMissStream } from '../nats/stores.ts'
import type { Linked } from './linked.ts'

/** A report without a change, milliseconds. */
const REPORT_EVERY_MS = 30_000
/** Changes within this time after a report are in the next one together, milliseconds. */
const COALESCED_MS = 500
const RETRY_MS = 1000

interface Options {
  readonly host: string
  readonly labels: Labels
  readonly deps: AppDeps
  readonly desired: () => DesiredReport
  /** Called with whether the last report was stored. */
  readonly onStored: (isStored: boolean) => void
  readonly log: Log
}

/** Reports how this host is: at every change and each 30 s. */
export class ActualReports {
  readonly #options: Options
  #changed = Promise.withResolvers<void>()
  /** Resolves with the next report that begins from now on. */
  #stored = Promise.withResolvers<void>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Something has changed; resolves when a report with it is stored. */
  change(): Promise<void> {
    this.#changed.resolve()
    return this.#stored.promise
  }

  /** Reports until the connection is lost. */
  async send({ connection, stores, create, signal }: Linked): Promise<void> {
    const { host, log, onStored } = this.#options
    signal.addEventListener('abort', () => this.#changed.resolve(), { once: true })
    let logged: string | undefined
    while (!signal.aborted) {
      this.#changed = Promise.withResolvers()
      const stored = this.#stored
      this.#stored = Promise.withResolvers()
      try {
        const state = fitting(await this.#read(), connection.info?.max_payload)
        await stores.js.publish(subjectOfKey(ACTUAL_BUCKET, host), JSON.stringify(state))
        stored.resolve()
        onStored(true)
        logged = undefined
        await pause(COALESCED_MS, signal)
        await within(this.#changed.promise, REPORT_EVERY_MS)
      } catch (error) {
        // Who waits for a report waits for the next one.
        const next = this.#stored
        void next.promise.then(stored.resolve)
        if (signal.aborted) return
        onStored(false)
        const reason = messageOf(error)
        // Why they cannot be created is logged there.
        if (mayMissStream(error)) await create()
        else if (reason !== logged) log.warn('fleet_state_not_stored', { error: reason })
        logged = reason
        await pause(RETRY_MS, signal)
      }
    }
  }

  async #read(): Promise<ActualState> {
    const { host, labels, deps, desired } = this.#options
    const [health, records, views] = await Promise.all([
      readHealth(deps),
      deps.pipelines.list(),
      // Without an engine, pipelines are as stored.
      deps.views.all().catch(() => undefined),
    ])
    return {
      host,
      labels,
      version: deps.version,
      at: new Date(deps.clock.now()).toISOString(),
      ...desired(),
      health: { ...health, fleet: 'linked' },
      pipelines: records.toSorted(byId).map((record) => {
        const { state, runtime } = views?.get(record.config.id)?.view ?? idleView(record)
        return { id: record.config.id, state, phase: runtime.phase, updated_at: new Date(record.updated_at).toISOString() }
      }),
    }
  }
}

const byId = (one: PipelineRecord, other: PipelineRecord): number => (one.config.id < other.config.id ? -1 : 1)

/** For the header of a message, bytes. */
const SPARE = 1024

/** The state, without its pipelines when it is larger than the servers take. */
const fitting = (state: ActualState, maxPayload = 1_048_576): ActualState =>
  Buffer.byteLength(JSON.stringify(state)) + SPARE <= maxPayload
    ? state
    : {
        ...state,
        pipelines: [],
        error: `${state.error === null ? '' : `${state.error}\n`}The ${state.pipelines.length} pipelines of this host do not fit into a message of ${maxPayload} bytes; raise max_payload of the NATS servers.`,
      }
