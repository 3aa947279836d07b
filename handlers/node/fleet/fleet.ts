import { hostname } from 'node:os'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Configuration } from '../../../lib/configuration/configuration.ts'
import { fleetHostNameOf } from '../../../lib/configuration/fleet.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { FleetHosts } from '../../../lib/fleet/fleet-hosts.ts'
import { inboxOf } from '../../../lib/fleet/names.ts'
import { pause, within } from '../../../lib/pause.ts'
import type { Log } from '../../../lib/ports.ts'
import type { FleetState } from '../../../lib/schema/health.ts'
import type { AppDeps, FetchHandler } from '../../app.ts'
import { createClient } from '../../client/client.ts'
import { connectOnce, type NatsAccess, readCredentials } from '../nats/connect.ts'
import { createStores, openStores } from '../nats/stores.ts'
import { ActualReports } from './actual.ts'
import { answerRequests } from './api.ts'
import { DesiredState } from './desired.ts'
import { FleetEvents } from './events.ts'
import { EventsFile } from './events-file.ts'
import { keepLink } from './link.ts'
import type { Linked } from './linked.ts'
import { createOtherHosts } from './other-hosts.ts'
import { watchDocument } from './watch.ts'

/** The link mostly brings the document within this time after the start, milliseconds; else the last one holds. */
const DOCUMENT_WITHIN_MS = 3000
/** A report about drift is waited for no longer than this, milliseconds. */
const REPORTED_WITHIN_MS = 2000
const CREATE_EVERY_MS = 3000
/** Longer attempts to create the stores go on by themselves, as in a cluster that elects a leader. */
const CREATED_WITHIN_MS = 2000
/** An attempt to connect may take longer. */
const ENDED_WITHIN_MS = 1500
/** Comes many times a second, and has a stream of its own. */
const LEFT_OUT = 'klv'

/** What the service hands to its fleet. */
interface FleetParts {
  readonly deps: AppDeps
  readonly app: FetchHandler
  readonly apiKey: string
  readonly dataDir: string
  readonly log: Log
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal
}

export interface Fleet {
  state(): FleetState
  readonly hosts: FleetHosts
  /** Joins; what is desired is applied when `ready` resolves. */
  begin(ready: Promise<unknown>): void
  /** The settings have changed. */
  onSettings(): void
  /** Settles when everything has ended, and what waits is saved. */
  ended(): Promise<void>
}

/** Prepares this host to join the fleet of the configuration. Throws when the file of the credentials cannot be read. */
export const openFleet = (configuration: Configuration, nats: NatsAccess['nats']): ((parts: FleetParts) => Fleet) => {
  const { natsCredentials } = configuration
  if (natsCredentials !== undefined) readCredentials(natsCredentials)
  const host = configuration.hostName ?? fleetHostNameOf(hostname())
  const { hostLabels: labels, fleetControl: control } = configuration
  return (parts) => new Member({ host, labels, control, access: { nats, natsCredentials } }, parts)
}

interface Membership {
  readonly host: string
  readonly labels: Configuration['hostLabels']
  readonly control: boolean
  readonly access: NatsAccess
}

/** This host as a member of its fleet. */
class Member implements Fleet {
  readonly hosts: FleetHosts
  readonly #membership: Membership
  readonly #parts: FleetParts
  readonly #events: FleetEvents
  readonly #reports: ActualReports
  #desired: DesiredState | undefined
  #isLinked = false
  #linked: Linked | undefined
  #ended: Promise<unknown> = Promise.resolve()

  constructor(membership: Membership, parts: FleetParts) {
    this.#membership = membership
    this.#parts = parts
    const { host, labels, control } = membership
    const { deps, dataDir, log } = parts
    this.#events = new FleetEvents({ host, log, file: new EventsFile(join(dataDir, 'fleet-events.jsonl')) })
    const desired = () => this.#desired?.report() ?? { desired_revision: null, applied_revision: null, error: null, drift: [] }
    this.#reports = new ActualReports({ host, labels, deps, log, desired, onStored: (isStored) => this.#noteStored(isStored) })
    this.hosts = createOtherHosts({ own: host, control, linked: () => this.#linked })
    // From the first event on, before the engine is there.
    deps.events.feed.subscribe({
      onEvent: (event) => {
        if (event.event === LEFT_OUT) return
        this.#events.add(event)
        this.#desired?.onEvent(event)
        if (this.#desired?.holdsReport() !== true) void this.#reports.change()
      },
      onEnd: () => {},
    })
  }

  state(): FleetState {
    return this.#isLinked ? 'linked' : 'waiting'
  }

  onSettings(): void {
    this.#desired?.onSettings()
  }

  begin(ready: Promise<unknown>): void {
    const { dataDir, log, stopping: signal, app, apiKey, deps } = this.#parts
    const client = createClient({ url: 'http://127.0.0.1', apiKey, fetch: (url, init) => app(new Request(url, init)) })
    const onReport = async (): Promise<void> => {
      const stored = this.#reports.change()
      if (this.#isLinked) await within(stored, REPORTED_WITHIN_MS)
    }
    const desired = new DesiredState({ client, file: join(dataDir, 'fleet.json'), ready, onReport, log, signal })
    this.#desired = desired
    // Without camera discovery, the events of pipelines are still sent.
    deps.cameraWatch.begin().catch(() => {})
    const restored = this.#events.restore().catch((error: unknown) => log.warn('fleet_events_not_restored', { error: messageOf(error) }))
    const held = pause(DOCUMENT_WITHIN_MS, signal).then(() => {
      if (!this.#isLinked) desired.resume()
    })
    const linked = restored.then(() =>
      keepLink({ connect: () => this.#connect(), use: (...args) => this.#use(desired, ...args), log, signal }),
    )
    this.#ended = Promise.all([held, linked])
  }

  async ended(): Promise<void> {
    await within(Promise.all([this.#ended, this.#desired?.ended()]), ENDED_WITHIN_MS)
    await this.#events.save()
  }

  #connect(): Promise<NatsConnection> {
    const { access, host } = this.#membership
    return connectOnce(access, { name: `video-pipeline-service ${host}`, inboxPrefix: inboxOf(host) })
  }

  async #use(desired: DesiredState, connection: NatsConnection, signal: AbortSignal): Promise<void> {
    const { host } = this.#membership
    const { log, app, apiKey } = this.#parts
    const leave = (): void => {
      this.#linked = undefined
      this.#noteStored(false)
    }
    signal.addEventListener('abort', leave, { once: true })
    const stores = await openStores(connection)
    const linked: Linked = { connection, stores, create: createOnce(connection, stores, log), signal }
    this.#linked = linked
    answerRequests(linked, { host, app, apiKey, log })
    // A report finds out at once whether the stores exist; a read of one that does not has no answer at all.
    const reported = this.#reports.change()
    const reporting = this.#reports.send(linked)
    await Promise.race([reported, reporting])
    await Promise.all([
      reporting,
      watchDocument(linked, {
        host,
        log,
        onDocument: (document) => desired.take(document),
        onNone: (isDeleted) => desired.release(isDeleted),
      }),
      this.#events.send(linked),
    ])
  }

  /** The host is linked when the fleet has its state, which takes more than a connection. */
  #noteStored(isStored: boolean): void {
    if (isStored && !this.#isLinked) this.#parts.log.info('fleet_linked', { host: this.#membership.host })
    this.#isLinked = isStored
  }
}

/** Attempts within some seconds are one. Refusals are logged. */
const createOnce = (connection: NatsConnection, stores: Linked['stores'], log: Log): Linked['create'] => {
  let running: Promise<void> | undefined
  return () => {
    running ??= createStores(connection, stores)
      .catch((error: unknown) =>
        log.warn('fleet_stores_not_created', {
          error: messageOf(error),
          advice: 'create them with a user who may: the page “A fleet” of the documents says how',
        }),
      )
      .finally(() => setTimeout(() => (running = undefined), CREATE_EVERY_MS).unref())
    return within(running, CREATED_WITHIN_MS)
  }
}
