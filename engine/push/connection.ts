import type { Fault } from '../faults/fault.ts'
import type { TsFeed } from '../formats/ts-feed.ts'

/** What every connection of a push needs. */
export interface PushConnection {
  readonly signal: AbortSignal
  readonly log: (stream: 'stdout' | 'stderr' | 'engine', line: string) => void
  readonly onStart: (feed: TsFeed, pid?: Promise<number | undefined>) => void
  /** The receiver takes the video. */
  readonly onSending: () => void
}

/** How a connection ended: with a fault, by its signal, or to be opened anew without a fault. */
export type ConnectionEnd = Fault | 'stopped' | 'renewed'

/** How often a connection is looked at, milliseconds. */
export const CHECK_MS = 1000
/** A receiver that takes nothing for so long is gone, seconds. */
export const STALLED_SECONDS = 10
/** A receiver that does not take the video in this time is given up, seconds; one that does not answer at all ends the child before. */
export const CONNECT_SECONDS = 20
