import { idleView, type PipelineRepresentation, represent } from '../pipelines/representation.ts'
import type { PipelineRecord } from '../repositories/repositories.ts'
import type { PipelineView } from '../schema/pipeline.ts'
import type { EventFeed } from './feed.ts'
import type { ApiEvent } from './replay-buffer.ts'

interface Published {
  readonly record: PipelineRecord
  view: PipelineView
  /** The status without its counters; undefined: published again, changed or not. */
  signature: string | undefined
}

/** The last published status of each pipeline. Statuses follow the revisions of the engine's events. */
export class PublishedStatuses {
  readonly #feed: Pick<EventFeed, 'publish' | 'unpublished'>
  readonly #published = new Map<string, Published>()

  constructor(feed: Pick<EventFeed, 'publish' | 'unpublished'>) {
    this.#feed = feed
  }

  has(id: string): boolean {
    return this.#published.has(id)
  }

  ids(): readonly string[] {
    return [...this.#published.keys()]
  }

  /** Publishes a status, unless only its counters have changed. */
  publish(record: PipelineRecord, view: PipelineView): void {
    const { id } = view
    const data = represent(record, view)
    const signature = signatureOf(data)
    const isNew = this.#published.get(id)?.signature !== signature
    this.#published.set(id, { record, view, signature })
    if (isNew) this.#feed.publish({ event: 'pipeline_status', pipelineId: id, data })
  }

  publishRemoved(id: string): void {
    this.#published.delete(id)
    this.#feed.publish({ event: 'pipeline_not_found', pipelineId: id, data: { pipeline_id: id } })
  }

  /** The next status of these pipelines is published, changed or not. */
  repeat(ids: readonly string[]): void {
    for (const id of ids) {
      const published = this.#published.get(id)
      if (published !== undefined) published.signature = undefined
    }
  }

  /** The engine no longer has the pipeline. */
  forgetView(id: string): void {
    const published = this.#published.get(id)
    if (published !== undefined) published.view = idleView(published.record)
  }

  /** Whether a later view has been published: a list of the engine may be ahead of its events. */
  isOld({ id, revision }: PipelineView): boolean {
    return revision < (this.#published.get(id)?.view.revision ?? 0)
  }

  /** The published view, unless only counters differ: a view read from the engine may be ahead of its events, which are published in order. */
  inOrder(view: PipelineView): PipelineView {
    const published = this.#published.get(view.id)?.view
    return published === undefined || published.revision === view.revision ? view : published
  }

  /** The present status for one client: current counters, else no newer than the events that follow it, down to the removal. */
  current(record: PipelineRecord, view: PipelineView): ApiEvent {
    if (!this.has(view.id)) this.#published.set(view.id, { record, view, signature: undefined })
    const published = this.#published.get(view.id)?.record ?? record
    const data = represent({ ...published, geolocation: record.geolocation }, this.inOrder(view))
    return this.#feed.unpublished({ event: 'pipeline_status', pipelineId: view.id, data })
  }
}

/** A status without the counters of the runtime, which change with every frame. */
const signatureOf = ({ runtime, ...rest }: PipelineRepresentation): string => {
  const { phase, desired, since, restarts, next_retry_at, last_error, video, audio } = runtime
  const size = video && [video.codec, video.width, video.height]
  const push = runtime.push.map(({ uri, state, last_error }) => [uri, state, last_error])
  return JSON.stringify([rest, phase, desired, since, restarts, next_retry_at, last_error, size, audio, push])
}
