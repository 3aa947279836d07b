import type { Phase, PipelineState } from '../../lib/schema/pipeline.ts'
import type { Failure } from '../play/retry-policy.ts'

/**
 * What can happen to a pipeline:
 * `play`/`stop`: a command; `media`: the first key frame of a run;
 * `lost`: a run ended and the next attempt follows; `fault`: a fault ended the play at once;
 * `timeout`: the start timeout of a caller that waits has passed; `give_up`: retried for as long as the settings allow;
 * `ended`: the child is reaped.
 */
export type LifecycleEvent = 'play' | 'media' | 'lost' | Failure | 'stop' | 'ended'

/** phase × event → the next phase. An event that a phase does not list changes nothing in it. */
const LIFECYCLE = {
  idle: { play: 'starting' },
  starting: { media: 'playing', lost: 'reconnecting', fault: 'failed', timeout: 'failed', stop: 'stopping' },
  playing: { lost: 'reconnecting', fault: 'failed', stop: 'stopping' },
  reconnecting: { media: 'playing', lost: 'reconnecting', fault: 'failed', give_up: 'failed', stop: 'stopping' },
  stopping: { ended: 'idle' },
  failed: { play: 'starting', stop: 'stopping' },
} as const satisfies Record<Phase, Partial<Record<LifecycleEvent, Phase>>>

/** The phase that follows, or undefined when the event changes nothing in this phase. */
export const nextPhase = (phase: Phase, event: LifecycleEvent): Phase | undefined =>
  (LIFECYCLE[phase] as Partial<Record<LifecycleEvent, Phase>>)[event]

/**
 * `state` of the representation: playing from the first media until the pipeline is stopped or gives up,
 * also while it reconnects. A pipeline that reconnects but never had media is ready.
 */
export const stateOf = (phase: Phase, hadMedia: boolean): PipelineState =>
  phase === 'playing' || (hadMedia && (phase === 'reconnecting' || phase === 'stopping')) ? 'playing' : 'ready'
