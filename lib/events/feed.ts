import { type ApiEvent, createReplayBuffer, type EventFilter } from './replay-buffer.ts'

/** An event that has no id yet. */
export interface NewEvent extends Omit<ApiEvent, 'id'> {
  /** Comes many times a second, such as KLV. */
  readonly frequent?: boolean
}

interface Subscriber {
  readonly onEvent: (event: ApiEvent) => void
  /** The service stops; no event follows. */
  readonly onEnd: () => void
}

export interface EventFeed {
  publish(event: NewEvent): void
  /** Calls back with every event from now on; returns a function that unsubscribes. */
  subscribe(subscriber: Subscriber): () => void
  /** The kept events after the one with this id, oldest first; none when another process issued the id. */
  missedSince(lastEventId: string | null, filter: EventFilter): readonly ApiEvent[]
  /** Whether every event after this id is still kept, frequent ones aside. */
  resumes(lastEventId: string | null): boolean
  /** An event for one client alone, with the id of the last published event. */
  unpublished(event: NewEvent): ApiEvent
  /** Ends every subscriber, present and future. */
  close(): void
  subscriberCount(): number
}

/** Numbers the events, sends them to the subscribers and keeps the newest. `process` distinguishes its ids from those of other processes. */
export const createEventFeed = (process: string): EventFeed => {
  const subscribers = new Set<Subscriber>()
  const buffer = createReplayBuffer()
  let count = 0
  let closed = false

  const toEvent = ({ event, pipelineId, data }: NewEvent): ApiEvent => ({ id: `${process}-${count}`, event, pipelineId, data })

  /** The count in an event id; undefined when this process did not issue it. */
  const countOf = (lastEventId: string | null): number | undefined => {
    const digits = lastEventId?.startsWith(`${process}-`) ? lastEventId.slice(process.length + 1) : ''
    const seen = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
    return seen === undefined || seen > count ? undefined : seen
  }

  return {
    publish(added) {
      count += 1
      const event = toEvent(added)
      buffer.keep(count, event, added.frequent === true)
      for (const { onEvent } of subscribers) onEvent(event)
    },
    subscribe(subscriber) {
      if (closed) subscriber.onEnd()
      else subscribers.add(subscriber)
      return () => {
        subscribers.delete(subscriber)
      }
    },
    missedSince(lastEventId, filter) {
      const seen = countOf(lastEventId)
      return seen === undefined ? [] : buffer.since(seen, filter)
    },
    resumes(lastEventId) {
      const seen = countOf(lastEventId)
      return seen !== undefined && buffer.isComplete(seen)
    },
    unpublished: toEvent,
    close() {
      closed = true
      for (const { onEnd } of [...subscribers]) onEnd()
      subscribers.clear()
    },
    subscriberCount: () => subscribers.size,
  }
}
