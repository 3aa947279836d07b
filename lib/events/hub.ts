import type { EngineEvent } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { findView, whenUnknown } from '../pipelines/find.ts'
import { idleView, type PipelineRepresentation, represent } from '../pipelines/representation.ts'
import type { Log } from '../ports.ts'
import { redact } from '../redact.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories/repositories.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import { createEventFeed, type EventFeed, type NewEvent } from './feed.ts'
import { createListedViews } from './listed-views.ts'
import type { ApiEvent } from './replay-buffer.ts'

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
  /** The present status of one pipeline; SERVICE_UNAVAILABLE while the engine is gone, and published as soon as it is back. */
  status(id: string): Promise<CurrentStatus>
  /** As `status`, of every pipeline. */
  allStatuses(): Promise<CurrentStatus>
}

interface EventHubDeps {
  readonly pipelines: Pick<PipelineRepository, 'find' | 'list'>
  readonly engine: Pick<Engine, 'view' | 'list'>
  /** As `engine`, where that may wait for an engine that is replaced: one becomes ready only after `resync`, which must not wait for it. */
  readonly engineAtOnce?: Pick<Engine, 'view'>
  readonly log: Log
  /** Start of this process, milliseconds since the epoch; part of the event ids, which tells them from those of other processes. */
  readonly startedAt: number
}

type Translations = { readonly [Type in EngineEvent['type']]?: (event: Extract<EngineEvent, { type: Type }>) => NewEvent }

/** Engine events that clients receive unchanged; those of a pipeline only once it is stored. */
const TRANSLATIONS: Translations = {
  klv: ({ id, packet }) => ({ event: 'klv', pipelineId: id, data: packet, frequent: true }),
  camera_added: ({ type, ...data }) => ({ event: type, pipelineId: undefined, data }),
  camera_removed: ({ type, ...data }) => ({ event: type, pipelineId: undefined, data }),
  pipeline_error: ({ id, message, code, cause, reason }) => ({
    event: 'pipeline_error',
    pipelineId: id,
    data: { pipeline_id: id, message: redact(message), code, cause: redact(cause), reason },
  }),
}

const translate = <Type extends EngineEvent['type']>(event: Extract<EngineEvent, { type: Type }>): NewEvent | undefined => {
  const translation = TRANSLATIONS[event.type as Type] as ((event: Extract<EngineEvent, { type: Type }>) => NewEvent) | undefined
  return translation?.(event)
}

interface Published {
  readonly status: PipelineRepresentation
  /** The status without its counters; an unchanged signature is not published again. */
  readonly signature: string
}

/** Turns the changes in engine and database into events of the API, those of one pipeline in order. */
export const createEventHub = (deps: EventHubDeps): EventHub => {
  const feed = createEventFeed(deps.startedAt.toString(36))
  const turns = createKeyedQueue()
  /** The engine's latest view of each pipeline that it knows. */
  const views = new Map<string, PipelineView>()
  const published = new Map<string, Published>()
  /** What the last resync found, until the events of the engine have come that far. */
  const listed = createListedViews()
  /** Pipelines whose status a client asked for while the engine was gone. */
  const requested = new Set<string>()
  /** Pipelines whose events came faster than the database answered. */
  const skipped = new Set<string>()

  /** Runs work of one pipeline in order; each status first reads the database. */
  const inTurn = async (id: string, work: () => Promise<void>): Promise<void> => {
    try {
      await turns(id, work)
    } catch (error) {
      if (isBusy(error)) skipped.add(id)
      else deps.log.warn('event_not_sent', { pipeline_id: id, error })
      return
    }
    if (skipped.delete(id)) await inTurn(id, () => publishSkipped(id))
  }

  const publishStatus = (status: PipelineRepresentation): void => {
    const { id } = status
    const signature = signatureOf(status)
    if (published.get(id)?.signature === signature && !requested.has(id)) return
    requested.delete(id)
    published.set(id, { status, signature })
    feed.publish({ event: 'pipeline_status', pipelineId: id, data: status })
  }

  const publishView = async (view: PipelineView): Promise<void> => {
    if (listed.isAheadOf(view)) return
    const record = await deps.pipelines.find(view.id)
    views.set(view.id, view)
    // Not stored yet: a create that is still starting.
    if (record !== undefined) publishStatus(represent(record, view))
  }

  const presentView = async (record: PipelineRecord): Promise<PipelineView> => {
    const { id } = record.config
    const absent = views.get(id) ?? idleView(record)
    // Without subscribers nobody reads the counters, so do not ask the engine.
    if (feed.subscribers === 0) return absent
    const engine = deps.engineAtOnce ?? deps.engine
    const fresh = await engine.view(id).catch(whenUnknown(absent))
    return inOrder(views.get(id), fresh)
  }

  const publishPresent = async (id: string): Promise<void> => {
    const record = await deps.pipelines.find(id)
    if (record === undefined) return
    publishStatus(represent(record, await presentView(record)))
  }

  const publishSkipped = async (id: string): Promise<void> => {
    views.delete(id)
    if (published.has(id) && (await deps.pipelines.find(id)) === undefined) publishRemoved(id)
    else await publishPresent(id)
  }

  const publishKnown = async (id: string, view: PipelineView | undefined): Promise<void> => {
    const record = await deps.pipelines.find(id)
    if (view === undefined) views.delete(id)
    else views.set(id, view)
    listed.set(id, view)
    if (record !== undefined) publishStatus(represent(record, view ?? idleView(record)))
    else if (published.has(id)) publishRemoved(id)
  }

  /** The views have changed without an event of their own: the defaults of the screenshots. A newer event has them already. */
  const publishListed = async (): Promise<void> => {
    // Who comes later begins with the present status.
    if (feed.subscribers === 0) return
    for (const view of await deps.engine.list()) {
      void inTurn(view.id, async () => {
        const record = await deps.pipelines.find(view.id)
        const known = views.get(view.id)
        if (record !== undefined) publishStatus(represent(record, isNewer(known, view) ? known : inOrder(known, view)))
      })
    }
  }

  const publishRemoved = (id: string): void => {
    for (const memory of [views, published, requested, skipped]) memory.delete(id)
    listed.set(id, undefined)
    feed.publish({ event: 'pipeline_not_found', pipelineId: id, data: { pipeline_id: id } })
  }

  const publishMessage = async (id: string, message: NewEvent): Promise<void> => {
    if (published.has(id) || (await deps.pipelines.find(id)) !== undefined) feed.publish(message)
  }

  /** The present status as an event for one client, with current counters. */
  const statusEvent = (record: PipelineRecord, fresh: PipelineView): ApiEvent => {
    const { id } = record.config
    const before = published.get(id)?.status
    const view = inOrder(views.get(id), fresh)
    const { state, runtime, klv, screenshots } = view
    const { geolocation } = record
    const data = before === undefined ? represent(record, view) : { ...before, geolocation, state, runtime, klv, screenshots }
    return feed.unpublished({ event: 'pipeline_status', pipelineId: id, data })
  }

  return {
    feed,
    push(event) {
      if (event.type === 'pipeline') void inTurn(event.view.id, () => publishView(event.view))
      if (event.type === 'heartbeat' && event.relist === true) {
        publishListed().catch((error: unknown) => deps.log.warn('event_not_sent', { error }))
      }
      if (event.type === 'pipeline_removed') void inTurn(event.id, async () => void views.delete(event.id))
      const message = translate(event)
      if (message === undefined) return
      const id = message.pipelineId
      if (id === undefined) feed.publish(message)
      else void inTurn(id, () => publishMessage(id, message))
    },
    async resync(present) {
      const known = new Map(present.map((view) => [view.id, view]))
      for (const id of views.keys()) if (!known.has(id)) views.delete(id)
      const stored = (await deps.pipelines.list()).map(({ config }) => config.id)
      // A published pipeline that is no longer stored was removed by another process.
      await Promise.all([...new Set([...stored, ...published.keys()])].map((id) => inTurn(id, () => publishKnown(id, known.get(id)))))
    },
    changed: (id) => void inTurn(id, () => publishPresent(id)),
    removed: (id) => void inTurn(id, async () => publishRemoved(id)),
    async status(id) {
      const asked = await deps.pipelines.find(id)
      if (asked === undefined) return () => []
      try {
        const fresh = await findView(deps.engine, asked)
        // Read last: what changed while the engine was asked is published already.
        const record = await deps.pipelines.find(id)
        return () => (record === undefined ? [] : [statusEvent(record, fresh)])
      } catch (error) {
        requested.add(id)
        throw error
      }
    },
    async allStatuses() {
      try {
        const known = new Map((await deps.engine.list()).map((view) => [view.id, view]))
        // Read last, as above: a pipeline that was deleted meanwhile is gone.
        const records = await deps.pipelines.list()
        return () => records.map((record) => statusEvent(record, known.get(record.config.id) ?? idleView(record)))
      } catch (error) {
        for (const { config } of await deps.pipelines.list()) requested.add(config.id)
        throw error
      }
    },
  }
}

/**
 * A view read from the engine may be newer than the events received so far. Statuses are published in the order of the
 * events, so the view of the last event counts until then; within one phase only counters differ.
 */
const inOrder = (known: PipelineView | undefined, fresh: PipelineView): PipelineView =>
  known === undefined || (known.runtime.since === fresh.runtime.since && known.runtime.phase === fresh.runtime.phase) ? fresh : known

/** Whether the view of the last event is from after the list. */
const isNewer = (known: PipelineView | undefined, listed: PipelineView): known is PipelineView =>
  known !== undefined && (known.revision ?? 0) > (listed.revision ?? 0)

const isBusy = (error: unknown): boolean => error instanceof ApiError && error.details.reason === 'busy'

/** A status without the counters of the runtime, which change with every frame. */
const signatureOf = ({ runtime, ...rest }: PipelineRepresentation): string => {
  const { phase, desired, since, restarts, next_retry_at, last_error } = runtime
  return JSON.stringify([rest, phase, desired, since, restarts, next_retry_at, last_error])
}
