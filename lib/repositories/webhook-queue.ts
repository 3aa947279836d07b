/** An event that waits for receivers. */
export interface QueuedEvent {
  /** Grows with every event, over restarts too. */
  readonly seq: number
  readonly id: string
  /** Events of one lane are delivered in their order: the pipeline, or all cameras. */
  readonly lane: string
  /** When it happened, milliseconds since the epoch. */
  readonly at: number
}

export interface Delivery {
  readonly receiver: string
  readonly seq: number
}

/** What one transaction changes: new events first, then what was delivered or dropped. */
interface QueueChanges {
  readonly added: readonly (QueuedEvent & { readonly body: string })[]
  readonly waiting: readonly Delivery[]
  readonly done: readonly Delivery[]
  /** Events that no receiver waits for any more. */
  readonly finished: readonly number[]
}

/** The events that wait for receivers of webhooks, as they are stored. Rejects when the database does not answer. */
export interface WebhookQueue {
  /** Each delivery that waits, the oldest first. */
  list(): Promise<readonly (QueuedEvent & Delivery)[]>
  /** The body of an event; undefined when it is not stored. */
  body(seq: number): Promise<string | undefined>
  write(changes: QueueChanges): Promise<void>
  close(): Promise<void>
}
