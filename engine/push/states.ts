import type { PushState } from '../../lib/schema/pipeline.ts'

/**
 * What can happen to a push: `start`: an attempt begins; `sent`: the receiver takes the video; `fault`: the attempt ended;
 * `stop`: the pipeline no longer plays.
 */
export type PushEvent = 'start' | 'sent' | 'fault' | 'stop'

/** state × event → the next state. An event that a state does not list changes nothing in it. */
const TRANSITIONS = {
  idle: { start: 'connecting' },
  connecting: { sent: 'sending', fault: 'waiting', stop: 'idle' },
  sending: { start: 'connecting', fault: 'waiting', stop: 'idle' },
  waiting: { start: 'connecting', fault: 'waiting', stop: 'idle' },
} as const satisfies Record<PushState, Partial<Record<PushEvent, PushState>>>

/** The state that follows, or undefined when the event changes nothing in this state. */
export const nextState = (state: PushState, event: PushEvent): PushState | undefined =>
  (TRANSITIONS[state] as Partial<Record<PushEvent, PushState>>)[event]
