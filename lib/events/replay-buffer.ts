/** One event as clients receive it. */
export interface ApiEvent {
  /** `<process>-<count>`; the count grows with every event of the process. */
  readonly id: string
  readonly event: string
  /** The pipeline of the event; undefined for cameras. */
  readonly pipelineId: string | undefined
  readonly data: unknown
}

export type EventFilter = (event: ApiEvent) => boolean

interface ReplayBuffer {
  /** Keeps an event; `frequent` events have a buffer of their own, because they would push out all others. */
  keep(count: number, event: ApiEvent, frequent: boolean): void
  /** The kept events after this count, oldest first. */
  since(count: number, filter: EventFilter): readonly ApiEvent[]
  /** Whether every event after this count is still kept, frequent ones aside. */
  isComplete(count: number): boolean
}

/** Events kept for clients that reconnect. */
const CAPACITY = { lasting: 1000, frequent: 500 } as const

interface Entry {
  readonly count: number
  readonly event: ApiEvent
}

/** The newest events, for `Last-Event-ID`. */
export const createReplayBuffer = (): ReplayBuffer => {
  const kept = { lasting: [] as Entry[], frequent: [] as Entry[] }
  let dropped = 0
  return {
    keep(count, event, frequent) {
      const kind = frequent ? 'frequent' : 'lasting'
      kept[kind].push({ count, event })
      if (kept[kind].length <= CAPACITY[kind]) return
      const oldest = kept[kind].shift()
      if (kind === 'lasting') dropped = oldest?.count ?? dropped
    },
    since: (count, filter) =>
      [...kept.lasting, ...kept.frequent]
        .filter((entry) => entry.count > count && filter(entry.event))
        .sort((one, other) => one.count - other.count)
        .map(({ event }) => event),
    isComplete: (count) => count >= dropped,
  }
}
