import { randomUUID } from 'node:crypto'
import type { EngineEvent } from '../../lib/engine/messages.ts'
import type { EngineMoment } from '../../lib/engine/moment.ts'

/** The numbered events of this engine, and who is subscribed to them. */
export class EngineEvents {
  /** This process; revisions of others are not comparable. */
  readonly #engine = randomUUID()
  readonly #subscribers = new Set<(event: EngineEvent) => void>()
  /** The revision at the last event of each pipeline. */
  readonly #revisions = new Map<string, number>()
  #revision = 0

  /** The newest event: a subscriber that has read as far knows all that has changed. */
  get moment(): EngineMoment {
    return { engine: this.#engine, revision: this.#revision }
  }

  revisionOf(id: string): number {
    return this.#revisions.get(id) ?? 0
  }

  /** Calls back with every event from now on, after a heartbeat with the present moment; returns the function that unsubscribes. */
  subscribe(onEvent: (event: EngineEvent) => void): () => void {
    this.#subscribers.add(onEvent)
    onEvent({ type: 'heartbeat', ...this.moment })
    return () => {
      this.#subscribers.delete(onEvent)
    }
  }

  /** Numbers the event and hands it to the subscribers. */
  emit(unnumbered: EngineEvent): void {
    this.#revision += 1
    const event = this.#numbered(unnumbered, this.#revision)
    for (const onEvent of this.#subscribers) onEvent(event)
  }

  #numbered(event: EngineEvent, revision: number): EngineEvent {
    if (event.type === 'pipeline_removed') this.#revisions.delete(event.id)
    if (event.type !== 'pipeline') return Object.assign({}, event, { revision })
    this.#revisions.set(event.view.id, revision)
    return { ...event, view: { ...event.view, revision }, revision }
  }
}
