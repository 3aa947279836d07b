import type { EngineEvent } from '../engine/messages.ts'
import type { Engine } from '../engine/protocol.ts'
import { ApiError } from '../errors.ts'
import { createKeyedQueue } from '../keyed-queue.ts'
import { absentView, type PipelineRepresentation, represent } from '../pipelines/representation.ts'
import type { Log } from '../ports.ts'
import { redact } from '../redact.ts'
import type { PipelineRecord, PipelineRepository } from '../repositories.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import { DEFAULT_SETTINGS } from '../schema/settings.ts'
import { type ApiEvent, createEventFeed, type EventFeed, type Message } from './feed.ts'

/** What a client is told first, made at the moment it is sent: by then it may have been overtaken. */
export type Greeting = () => readonly ApiEvent[]

export interface EventHub {
  /** The events in their order, for those who follow them. */
  readonly feed: Omit<EventFeed, 'publish' | 'aside'>
  /** Takes what the engine tells; the one upstream subscription of the process feeds it. */
  push(event: EngineEvent): void
  /** The engine is there, perhaps again or another one: tells what is not as it was told last. */
  resync(views: readonly PipelineView[]): Promise<void>
  /** The configuration of a pipeline changed in the database. */
  changed(id: string): void
  /** The pipeline is gone from the database. */
  removed(id: string): void
  /** The present status of one pipeline; SERVICE_UNAVAILABLE when the engine is away, and then told as soon as it is back. */
  greet(id: string): Promise<Greeting>
  /** As `greet`, of every pipeline. */
  greetAll(): Promise<Greeting>
}

export interface EventHubDeps {
  readonly pipelines: Pick<PipelineRepository, 'find' | 'list'>
  readonly engine: Pick<Engine, 'view' | 'list'>
  readonly log: Log
  /** When this process began, milliseconds since the epoch: part of the ids, so that those of another process are not taken for ours. */
  readonly startedAt: number
}

type Translations = { readonly [Type in EngineEvent['type']]?: (event: Extract<EngineEvent, { type: Type }>) => Message }

/** What the engine tells and clients get as it is. An event about a pipeline is told once that is stored. */
const TRANSLATIONS: Translations = {
  klv: ({ id, packet }) => ({ event: 'klv', pipelineId: id, data: packet, frequent: true }),
  camera_added: ({ type, ...data }) => ({ event: type, pipelineId: undefined, data }),
  camera_removed: ({ type, ...data }) => ({ event: type, pipelineId: undefined, data }),
  pipeline_error: ({ id, message, code, cause }) => ({
    event: 'pipeline_error',
    pipelineId: id,
    data: { pipeline_id: id, message: redact(message), code, cause: redact(cause) },
  }),
}

const translate = <Type extends EngineEvent['type']>(event: Extract<EngineEvent, { type: Type }>): Message | undefined => {
  const translation = TRANSLATIONS[event.type as Type] as ((event: Extract<EngineEvent, { type: Type }>) => Message) | undefined
  return translation?.(event)
}

interface Told {
  readonly status: PipelineRepresentation
  /** What was told without the counters: a status that says nothing new is not sent. */
  readonly signature: string
}

/** Turns what engine and database tell into the events of the API, those of one pipeline in order, and fans them out. */
export const createEventHub = (deps: EventHubDeps): EventHub => {
  const feed = createEventFeed(deps.startedAt.toString(36))
  const turns = createKeyedQueue()
  /** The engine's latest word on each pipeline that it holds. */
  const views = new Map<string, PipelineView>()
  const told = new Map<string, Told>()
  /** Pipelines whose status somebody waits for since the engine was away. */
  const owed = new Set<string>()
  /** Pipelines of which events came faster than the database answers. */
  const skipped = new Set<string>()

  /** One after the other for each pipeline, since a status first reads the database. */
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
    if (told.get(id)?.signature === signature && !owed.has(id)) return
    owed.delete(id)
    told.set(id, { status, signature })
    feed.publish({ event: 'pipeline_status', pipelineId: id, data: status })
  }

  const publishView = async (view: PipelineView): Promise<void> => {
    const record = await deps.pipelines.find(view.id)
    views.set(view.id, view)
    // Not stored yet: a create that is still starting, which nobody can follow.
    if (record !== undefined) publishStatus(represent(record, view))
  }

  const presentView = async (record: PipelineRecord): Promise<PipelineView> => {
    const { id } = record.config
    const absent = views.get(id) ?? notHeld(record)
    // Nobody sees the counters, so the engine need not be asked.
    if (feed.followers === 0) return absent
    const fresh = await deps.engine.view(id).catch((error: unknown) => viewWithout(error, absent))
    return inOrder(views.get(id), fresh)
  }

  const publishPresent = async (id: string): Promise<void> => {
    const record = await deps.pipelines.find(id)
    if (record === undefined) return
    publishStatus(represent(record, await presentView(record)))
  }

  const publishSkipped = async (id: string): Promise<void> => {
    views.delete(id)
    if (told.has(id) && (await deps.pipelines.find(id)) === undefined) publishRemoved(id)
    else await publishPresent(id)
  }

  const publishHeld = async (id: string, view: PipelineView | undefined): Promise<void> => {
    const record = await deps.pipelines.find(id)
    if (view === undefined) views.delete(id)
    else views.set(id, view)
    if (record !== undefined) publishStatus(represent(record, view ?? notHeld(record)))
    else if (told.has(id)) publishRemoved(id)
  }

  const publishRemoved = (id: string): void => {
    for (const memory of [views, told, owed, skipped]) memory.delete(id)
    feed.publish({ event: 'pipeline_not_found', pipelineId: id, data: { pipeline_id: id } })
  }

  const publishMessage = async (id: string, message: Message): Promise<void> => {
    if (told.has(id) || (await deps.pipelines.find(id)) !== undefined) feed.publish(message)
  }

  /** The present status as an event for one client, with the counters of now. */
  const statusAside = (record: PipelineRecord, fresh: PipelineView): ApiEvent => {
    const { id } = record.config
    const known = told.get(id)?.status
    const view = inOrder(views.get(id), fresh)
    const { state, runtime, klv, screenshots } = view
    const { geolocation } = record
    const data = known === undefined ? represent(record, view) : { ...known, geolocation, state, runtime, klv, screenshots }
    return feed.aside({ event: 'pipeline_status', pipelineId: id, data })
  }

  return {
    feed,
    push(event) {
      if (event.type === 'pipeline') void inTurn(event.view.id, () => publishView(event.view))
      if (event.type === 'pipeline_removed') void inTurn(event.id, async () => void views.delete(event.id))
      const message = translate(event)
      if (message === undefined) return
      const id = message.pipelineId
      if (id === undefined) feed.publish(message)
      else void inTurn(id, () => publishMessage(id, message))
    },
    async resync(present) {
      const held = new Map(present.map((view) => [view.id, view]))
      for (const id of views.keys()) if (!held.has(id)) views.delete(id)
      const stored = (await deps.pipelines.list()).map(({ config }) => config.id)
      // What was told and is not stored any more was removed by another process.
      await Promise.all([...new Set([...stored, ...told.keys()])].map((id) => inTurn(id, () => publishHeld(id, held.get(id)))))
    },
    changed: (id) => void inTurn(id, () => publishPresent(id)),
    removed: (id) => void inTurn(id, async () => publishRemoved(id)),
    async greet(id) {
      const record = await deps.pipelines.find(id)
      if (record === undefined) return () => []
      try {
        const fresh = await deps.engine.view(id).catch((error: unknown) => viewWithout(error, notHeld(record)))
        return () => [statusAside(record, fresh)]
      } catch (error) {
        owed.add(id)
        throw error
      }
    },
    async greetAll() {
      const records = await deps.pipelines.list()
      try {
        const held = new Map((await deps.engine.list()).map((view) => [view.id, view]))
        return () => records.map((record) => statusAside(record, held.get(record.config.id) ?? notHeld(record)))
      } catch (error) {
        for (const { config } of records) owed.add(config.id)
        throw error
      }
    },
  }
}

/**
 * A view that was asked for may be ahead of the events on their way. They tell it in order, so until then the view they
 * told last counts; within one phase only counters differ.
 */
const inOrder = (known: PipelineView | undefined, fresh: PipelineView): PipelineView =>
  known === undefined || (known.runtime.since === fresh.runtime.since && known.runtime.phase === fresh.runtime.phase) ? fresh : known

const notHeld = (record: PipelineRecord): PipelineView => absentView(record, DEFAULT_SETTINGS.screenshots)

/** The view of a pipeline that the engine does not hold; any other trouble of the engine is thrown on. */
const viewWithout = (error: unknown, absent: PipelineView): PipelineView => {
  if (error instanceof ApiError && error.code === 'NOT_FOUND') return absent
  throw error
}

const isBusy = (error: unknown): boolean => error instanceof ApiError && error.details.reason === 'busy'

/** What a status is about: the counters of the runtime change with every frame and are no news. */
const signatureOf = ({ runtime, ...rest }: PipelineRepresentation): string => {
  const { phase, desired, since, restarts, next_retry_at, last_error } = runtime
  return JSON.stringify([rest, phase, desired, since, restarts, next_retry_at, last_error])
}
