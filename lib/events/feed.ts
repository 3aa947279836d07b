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

/** An event before it has its place in the order. */
export interface Message extends Omit<ApiEvent, 'id'> {
  /** Comes so often that it is kept apart, since it would push out what else a client missed. */
  readonly frequent?: boolean
}

export interface Follower {
  readonly onEvent: (event: ApiEvent) => void
  /** The service stops: nothing follows. */
  readonly onEnd: () => void
}

export interface EventFeed {
  publish(message: Message): void
  /** Calls back with every event from now on; returns what ends that. */
  subscribe(follower: Follower): () => void
  /** The kept events after the one with this id, the oldest first; none when another process counted it. */
  missedSince(lastEventId: string | null, filter: EventFilter): readonly ApiEvent[]
  /** Whether everything after this id is still kept, but for the frequent. */
  resumes(lastEventId: string | null): boolean
  /** An event for one client alone, which comes after all that were published. */
  aside(message: Message): ApiEvent
  /** Ends every follower, and those that come later. */
  close(): void
  readonly followers: number
}

/** Events kept for clients that come back; the frequent ones are kept apart. */
const KEPT = { lasting: 1000, frequent: 500 } as const

interface Kept {
  readonly count: number
  readonly event: ApiEvent
}

/** The order of all events, a bounded memory of the newest, and those who follow. `process` tells this process from others. */
export const createEventFeed = (process: string): EventFeed => {
  const followers = new Set<Follower>()
  const kept = { lasting: [] as Kept[], frequent: [] as Kept[] }
  let count = 0
  let forgotten = 0
  let closed = false

  const toEvent = ({ event, pipelineId, data }: Message): ApiEvent => ({ id: `${process}-${count}`, event, pipelineId, data })

  /** How many events a client has seen; undefined when this process did not count them. */
  const countOf = (lastEventId: string | null): number | undefined => {
    const digits = lastEventId?.startsWith(`${process}-`) ? lastEventId.slice(process.length + 1) : ''
    const seen = /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
    return seen === undefined || seen > count ? undefined : seen
  }

  return {
    publish(message) {
      count += 1
      const event = toEvent(message)
      const kind = message.frequent === true ? 'frequent' : 'lasting'
      kept[kind].push({ count, event })
      if (kept[kind].length > KEPT[kind]) {
        const oldest = kept[kind].shift()
        if (kind === 'lasting') forgotten = oldest?.count ?? forgotten
      }
      for (const { onEvent } of followers) onEvent(event)
    },
    subscribe(follower) {
      if (closed) follower.onEnd()
      else followers.add(follower)
      return () => {
        followers.delete(follower)
      }
    },
    missedSince(lastEventId, filter) {
      const seen = countOf(lastEventId)
      if (seen === undefined) return []
      return [...kept.lasting, ...kept.frequent]
        .filter((entry) => entry.count > seen && filter(entry.event))
        .sort((one, other) => one.count - other.count)
        .map(({ event }) => event)
    },
    resumes(lastEventId) {
      const seen = countOf(lastEventId)
      return seen !== undefined && seen >= forgotten
    },
    aside: toEvent,
    close() {
      closed = true
      for (const { onEnd } of [...followers]) onEnd()
      followers.clear()
    },
    get followers() {
      return followers.size
    },
  }
}
