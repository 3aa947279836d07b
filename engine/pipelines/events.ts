import { randomUUID } from 'node:crypto'
import type { EngineChange, NumberedEvent } from '../../lib/engine/messages.ts'
import type { EngineMoment } from '../../lib/engine/moment.ts'

/** The numbered events of this engine, and who is subscribed to them. */
export class EngineEvents {
  /** This process; revisions of others are not comparable. */
  readonly #engine = randomUUID()
  readonly #subscribers = new Set<(event: NumberedEvent) => void>()
  #revision = 0

  /** The newest event: a subscriber that has read as far knows all that has changed. */
  get moment(): EngineMoment {
    return { engine: this.#engine, revision: this.#revision }
  }

  /** Calls back with the present moment and every event from now on; returns the function that unsubscribes. */
  subscribe(onEvent: (event: NumberedEvent) => void): () => void {
    this.#subscribers.add(onEvent)
    onEvent({ type: 'begin', ...this.moment })
    return () => {
      this.#subscribers.delete(onEvent)
    }
  }

  /** Numbers a change and hands it to the subscribers. Answers its revision. */
  emit(change: EngineChange): number {
    this.#revision += 1
    const revision = this.#revision
    const event: NumberedEvent =
      change.type === 'pipeline' ? { ...change, view: { ...change.view, revision } } : Object.assign({}, change, { revision })
    for (const onEvent of this.#subscribers) onEvent(event)
    return revision
  }
}
