import type { EngineEvent } from '../engine/messages.ts'
import { aged, type EngineMirror, type ViewReader } from '../engine/mirror.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { findView, whenUnknown } from '../pipelines/find.ts'
import { idleView } from '../pipelines/representation.ts'
import type { Log } from '../ports.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories/repositories.ts'
import { isAtRest, type PipelineView } from '../schema/pipeline.ts'
import { createEventFeed, type EventFeed } from './feed.ts'
import type { ApiEvent } from './replay-buffer.ts'
import { PublishedStatuses } from './statuses.ts'
import { toMessage } from './to-message.ts'

/** The present status for a new client. Made at the moment it is sent, because events may have come since it was read. */
export type CurrentStatus = () => readonly ApiEvent[]

export interface EventHub {
  /** The events in their order, for subscribers. */
  readonly feed: Omit<EventFeed, 'publish' | 'unpublished'>
  /** Takes an event of the engine; a process subscribes to its engine once. */
  push(event: EngineEvent): void
  /** The engine is available, perhaps another one: publishes every status that differs from the one published last. */
  resync(views: readonly PipelineView[]): Promise<void>
  /** The configuration of a pipeline changed in the database. */
  changed(id: string): void
  /** The pipeline is gone from the database. */
  removed(id: string): void
  /** Another process may have stored or removed the pipeline: publishes what has changed. */
  reread(id: string): void
  /** Whether a status of the pipeline was published, and not its removal since. */
  has(id: string): boolean
  /** The present status of one pipeline; SERVICE_UNAVAILABLE while the engine is gone, and published as soon as it is back. */
  status(id: string): Promise<CurrentStatus>
  /** As `status`, of every pipeline. */
  allStatuses(): Promise<CurrentStatus>
}

interface EventHubDeps {
  readonly pipelines: Pick<PipelineRepository, 'find' | 'list'>
  readonly views: ViewReader
  readonly mirror: Pick<EngineMirror, 'view'>
  /** Fails at once while no engine is there: a call that waits for one would wait for `resync`, which waits for its turn. */
  readonly engineAtOnce: Pick<Engine, 'view'>
  readonly log: Log
  /** Start of this process, milliseconds since the epoch: its event ids differ from those of other processes. */
  readonly startedAt: number
}

/** Turns the changes in engine and database into events of the API, those of one pipeline in order. */
export const createEventHub = (deps: EventHubDeps): EventHub => new Hub(deps)

class Hub implements EventHub {
  readonly feed: EventFeed
  readonly #deps: EventHubDeps
  readonly #statuses: PublishedStatuses
  readonly #turns = createKeyedQueue()
  /** Pipelines whose events came faster than the database answered. */
  readonly #skipped = new Set<string>()

  constructor(deps: EventHubDeps) {
    this.feed = createEventFeed(deps.startedAt.toString(36))
    this.#deps = deps
    this.#statuses = new PublishedStatuses(this.feed)
  }

  readonly push = (event: EngineEvent): void => {
    if (event.type === 'pipeline') void this.#inTurn(event.view.id, () => this.#publishView(event.view))
    if (event.type === 'pipeline_removed') void this.#inTurn(event.id, async () => this.#statuses.forgetView(event.id))
    if (event.type === 'relist') this.#publishAll().catch((error: unknown) => this.#deps.log.warn('event_not_sent', { error }))
    const message = toMessage(event)
    const id = message?.pipelineId
    if (message === undefined) return
    if (id === undefined) this.feed.publish(message)
    else
      void this.#inTurn(id, async () => {
        if (this.#statuses.has(id) || (await this.#find(id)) !== undefined) this.feed.publish(message)
      })
  }

  readonly resync = async (views: readonly PipelineView[]): Promise<void> => {
    const known = new Map(views.map((view) => [view.id, view]))
    const stored = (await this.#deps.pipelines.list()).map(({ config }) => config.id)
    // A published pipeline that is no longer stored was removed by another process.
    const ids = new Set([...stored, ...this.#statuses.ids()])
    await Promise.all(
      [...ids].map((id) => this.#inTurn(id, () => this.#publishNewest(id, async (record) => known.get(id) ?? idleView(record)))),
    )
  }

  readonly changed = (id: string): void =>
    void this.#inTurn(id, async () => {
      const record = await this.#find(id)
      if (record !== undefined) this.#statuses.publish(record, await this.#viewInOrder(record))
    })

  readonly removed = (id: string): void => void this.#inTurn(id, async () => this.#statuses.publishRemoved(id))

  readonly reread = (id: string): void => void this.#inTurn(id, () => this.#publishNewest(id, (record) => this.#viewInOrder(record)))

  readonly has = (id: string): boolean => this.#statuses.has(id)

  readonly status = async (id: string): Promise<CurrentStatus> => {
    const asked = await this.#find(id)
    if (asked === undefined) return () => []
    try {
      const view = await findView({ view: async () => aged(await this.#deps.views.one(id)) }, asked)
      // Read last: what changed while the engine was asked is published already.
      const record = await this.#find(id)
      return () => (record === undefined ? [] : [this.#statuses.current(record, view)])
    } catch (error) {
      this.#statuses.repeat([id])
      throw error
    }
  }

  readonly allStatuses = async (): Promise<CurrentStatus> => {
    try {
      const views = await this.#deps.views.all()
      // Read last, as above: a pipeline that was deleted meanwhile is gone.
      const records = await this.#deps.pipelines.list()
      return () =>
        records.map((record) => {
          const found = views.get(record.config.id)
          return this.#statuses.current(record, found === undefined ? idleView(record) : aged(found))
        })
    } catch (error) {
      this.#statuses.repeat(this.#statuses.ids())
      throw error
    }
  }

  #find(id: string): Promise<PipelineRecord | undefined> {
    return this.#deps.pipelines.find(id)
  }

  /** Runs work of one pipeline in order; each status first reads the database. */
  async #inTurn(id: string, work: () => Promise<void>): Promise<void> {
    try {
      await this.#turns(id, work)
    } catch (error) {
      if (isBusy(error)) this.#skipped.add(id)
      else this.#deps.log.warn('event_not_sent', { pipeline_id: id, error })
      return
    }
    if (this.#skipped.delete(id)) await this.#inTurn(id, () => this.#publishNewest(id, (record) => this.#presentView(record)))
  }

  async #publishView(view: PipelineView): Promise<void> {
    if (this.#statuses.isOld(view)) return
    const record = await this.#find(view.id)
    // Not stored yet: a create that is still starting.
    if (record !== undefined) this.#statuses.publish(record, view)
  }

  /** Also a view that the events have not come to yet. */
  async #publishNewest(id: string, read: (record: PipelineRecord) => Promise<PipelineView>): Promise<void> {
    const record = await this.#find(id)
    if (record !== undefined) this.#statuses.publish(record, await read(record))
    else if (this.#statuses.has(id)) this.#statuses.publishRemoved(id)
  }

  /** Views have changed without an event of their own: the defaults of the screenshots. */
  async #publishAll(): Promise<void> {
    // A later subscriber begins with the present status.
    if (this.feed.subscriberCount() === 0) return
    const views = await this.#deps.views.all()
    for (const id of views.ids()) {
      void this.#inTurn(id, async () => {
        const [record, found] = [await this.#find(id), views.get(id)]
        if (record !== undefined && found !== undefined) this.#statuses.publish(record, this.#statuses.inOrder(aged(found)))
      })
    }
  }

  async #viewInOrder(record: PipelineRecord): Promise<PipelineView> {
    return this.#statuses.inOrder(await this.#presentView(record))
  }

  async #presentView(record: PipelineRecord): Promise<PipelineView> {
    const { id } = record.config
    const mirrored = this.#deps.mirror.view(id)
    const known = mirrored ?? idleView(record)
    // Counters are asked for where there are any, and somebody reads them.
    const isCounting = mirrored === undefined || !isAtRest(mirrored)
    return !isCounting || this.feed.subscriberCount() === 0 ? known : this.#deps.engineAtOnce.view(id).catch(whenUnknown(known))
  }
}

const isBusy = (error: unknown): boolean => error instanceof ApiError && error.details.reason === 'busy'
