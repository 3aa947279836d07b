import type { Phase, PipelineState } from '../../lib/schema/pipeline.ts'

/**
 * What can happen to a pipeline:
 * `play`/`stop` were asked for; `media`: a key frame came out;
 * `lost`: the run ended or stalled and will be tried again; `fault`: only a user can mend it;
 * `timeout`: a start that somebody waits for took too long; `give_up`: retried for as long as the settings allow;
 * `ended`: the child is reaped and the port is free.
 */
export type LifecycleEvent = 'play' | 'media' | 'lost' | 'fault' | 'timeout' | 'give_up' | 'stop' | 'ended'

/** The whole life of a pipeline. What a phase does not name cannot happen in it. */
export const LIFECYCLE = {
  idle: { play: 'starting' },
  starting: { media: 'playing', lost: 'reconnecting', fault: 'failed', timeout: 'failed', stop: 'stopping' },
  playing: { lost: 'reconnecting', fault: 'failed', stop: 'stopping' },
  reconnecting: { media: 'playing', lost: 'reconnecting', fault: 'failed', give_up: 'failed', stop: 'stopping' },
  stopping: { ended: 'idle' },
  failed: { play: 'starting', stop: 'stopping' },
} as const satisfies Record<Phase, Partial<Record<LifecycleEvent, Phase>>>

/** The phase that follows, or undefined when the event cannot happen in this phase. */
export const nextPhase = (phase: Phase, event: LifecycleEvent): Phase | undefined =>
  (LIFECYCLE[phase] as Partial<Record<LifecycleEvent, Phase>>)[event]

/**
 * `state` of the representation: playing from the first media until the pipeline is stopped or gives up,
 * also while it reconnects. A pipeline that reconnects but never had media is ready.
 */
export const stateOf = (phase: Phase, hadMedia: boolean): PipelineState =>
  phase === 'playing' || (hadMedia && (phase === 'reconnecting' || phase === 'stopping')) ? 'playing' : 'ready'
