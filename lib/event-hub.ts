import type { Clock, Engine, EngineEvent, Log } from './ports.ts'
import type { PipelineRepository } from './repositories.ts'
import { type PipelineRepresentation, represent } from './representation.ts'

/** One event as clients get it. */
export interface ApiEvent {
  /** Grows with every event; the part before the dash names the process that counted. */
  readonly id: string
  readonly event: string
  /** The pipeline it is about; undefined for cameras. */
  readonly pipelineId: string | undefined
  readonly data: unknown
}

export type EventFilter = (event: ApiEvent) => boolean

export interface EventHub {
  /** Takes what the engine tells; the one upstream subscription of the process feeds it. */
  push(event: EngineEvent): void
  /** The configuration of a pipeline changed in the database. */
  changed(id: string): void
  /** The pipeline is gone from the database. */
  removed(id: string): void
  /** Calls back with every event from now on; returns what ends that. */
  subscribe(listener: (event: ApiEvent) => void): () => void
  /** The kept events after the one with this id, the oldest first; none when it is not known any more. */
  missedSince(lastEventId: string | null, filter: EventFilter): readonly ApiEvent[]
  /** A pipeline's present status as an event that comes after all others. */
  statusNow(representation: PipelineRepresentation): ApiEvent
  readonly subscribers: number
}

/** Events kept for clients that come back. */
const KEPT_EVENTS = 1000

export interface EventHubDeps {
  readonly pipelines: Pick<PipelineRepository, 'find'>
  readonly engine: Pick<Engine, 'view'>
  readonly clock: Clock
  readonly log: Log
}

/** Turns what engine and database tell into the events of the API, in order, and fans them out. */
export const createEventHub = (deps: EventHubDeps): EventHub => {
  const process = deps.clock.now().toString(36)
  const listeners = new Set<(event: ApiEvent) => void>()
  const kept: ApiEvent[] = []
  /** What was last told of each pipeline: a status that says nothing new is not sent. */
  const told = new Map<string, string>()
  let count = 0
  let turn: Promise<void> = Promise.resolve()

  const publish = (event: string, pipelineId: string | undefined, data: unknown): void => {
    count += 1
    const published = { id: `${process}-${count}`, event, pipelineId, data }
    kept.push(published)
    if (kept.length > KEPT_EVENTS) kept.shift()
    for (const listener of listeners) listener(published)
  }

  /** One after the other, since a status first reads the database. */
  const inTurn = (work: () => Promise<void>): void => {
    turn = turn.then(work).catch((error: unknown) => deps.log.warn('event_not_sent', { error }))
  }

  const publishStatus = async (event: Extract<EngineEvent, { type: 'pipeline' }>): Promise<void> => {
    const { view } = event
    const record = await deps.pipelines.find(view.id)
    // Not stored yet: a create that is still starting, which nobody can follow.
    if (record === undefined) return
    publishIfNew(represent(record, view))
  }

  const publishIfNew = (representation: PipelineRepresentation): void => {
    const signature = signatureOf(representation)
    if (told.get(representation.id) === signature) return
    told.set(representation.id, signature)
    publish('pipeline_status', representation.id, representation)
  }

  const publishChanged = async (id: string): Promise<void> => {
    const record = await deps.pipelines.find(id)
    if (record !== undefined) publishIfNew(represent(record, await deps.engine.view(id)))
  }

  return {
    push(event) {
      if (event.type === 'pipeline') inTurn(() => publishStatus(event))
      else if (event.type === 'pipeline_error') {
        const { id, message, code, cause } = event
        inTurn(async () => {
          if ((await deps.pipelines.find(id)) !== undefined) publish('pipeline_error', id, { pipeline_id: id, message, code, cause })
        })
      }
    },
    changed: (id) => inTurn(() => publishChanged(id)),
    removed: (id) =>
      inTurn(async () => {
        told.delete(id)
        publish('pipeline_not_found', id, { pipeline_id: id })
      }),
    subscribe(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    missedSince(lastEventId, filter) {
      const known = kept.findIndex(({ id }) => id === lastEventId)
      return known < 0 ? [] : kept.slice(known + 1).filter(filter)
    },
    statusNow: (representation) => ({
      id: `${process}-${count}`,
      event: 'pipeline_status',
      pipelineId: representation.id,
      data: representation,
    }),
    get subscribers() {
      return listeners.size
    },
  }
}

/** What a status is about: the counters of the runtime change with every frame and are no news. */
const signatureOf = ({ runtime, ...rest }: PipelineRepresentation): string =>
  JSON.stringify([rest, runtime.phase, runtime.desired, runtime.restarts, runtime.next_retry_at, runtime.last_error])

/** A repository that tells the hub of every change it makes. */
export const withEvents = (pipelines: PipelineRepository, hub: () => EventHub): PipelineRepository => {
  const told = async <T>(id: string, change: Promise<T>, tell: (id: string) => void): Promise<T> => {
    const result = await change
    if (result !== false) tell(id)
    return result
  }
  const changed = (id: string): void => hub().changed(id)
  return {
    ...pipelines,
    insert: (record) => told(record.config.id, pipelines.insert(record), changed),
    replace: (id, change) => told(id, pipelines.replace(id, change), changed),
    setGeolocation: (id, geolocation, updatedAt) => told(id, pipelines.setGeolocation(id, geolocation, updatedAt), changed),
    remove: (id) => told(id, pipelines.remove(id), (gone) => hub().removed(gone)),
  }
}
