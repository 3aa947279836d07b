import type { Phase, Pipeline } from '../api/types.ts'
import { durationText } from './format.ts'

/** The color of a state. */
export type Tone = 'good' | 'busy' | 'bad' | 'quiet'

interface PhaseWords {
  readonly word: string
  readonly tone: Tone
  readonly icon: 'dot' | 'wait' | 'alert' | 'stop' | 'moon'
}

const PHASES: Readonly<Record<Phase, PhaseWords>> = {
  playing: { word: 'Live', tone: 'good', icon: 'dot' },
  starting: { word: 'Starting', tone: 'busy', icon: 'wait' },
  reconnecting: { word: 'Reconnecting', tone: 'busy', icon: 'wait' },
  stopping: { word: 'Stopping', tone: 'quiet', icon: 'wait' },
  failed: { word: 'Failed', tone: 'bad', icon: 'alert' },
  idle: { word: 'Stopped', tone: 'quiet', icon: 'stop' },
}

const WAITING: PhaseWords = { word: 'On demand', tone: 'quiet', icon: 'moon' }

/** A pipeline of this host or of another. */
interface Phased {
  readonly runtime: { readonly phase: Phase }
  readonly on_demand: boolean
}

export const phaseWords = ({ runtime, on_demand }: Phased): PhaseWords =>
  runtime.phase === 'idle' && on_demand ? WAITING : PHASES[runtime.phase]

/** The phase in one sentence. */
export const phaseSentence = (pipeline: Pipeline): string => {
  const { phase } = pipeline.runtime
  if (phase === 'playing') return 'Video is received and served.'
  if (phase === 'starting') return 'Waiting for the first frame from the source.'
  if (phase === 'reconnecting') return 'The source is not available. Readers stay connected, and video resumes when it is back.'
  if (phase === 'stopping') return 'The stream is being stopped.'
  if (phase === 'failed') return 'There is no automatic retry. Fix the cause, then play the pipeline.'
  return pipeline.on_demand ? 'Starts with its first reader, or when you play it.' : 'The pipeline is stopped. Play it to see its video.'
}

/** When the source is tried again. `now`: by the clock of the service. */
export const nextTryText = ({ runtime: { next_retry_at } }: Pipeline, now: number): string => {
  const ms = next_retry_at === null ? 0 : Date.parse(next_retry_at) - now
  return ms < 500 ? 'Trying again now' : `Next try in ${durationText(ms)}`
}

/** The groups of the overview. */
export const GROUPS = {
  all: { word: 'All', has: () => true },
  live: { word: 'Live', has: (phase: Phase) => phase === 'playing' },
  busy: { word: 'Reconnecting', has: (phase: Phase) => phase === 'starting' || phase === 'reconnecting' },
  failed: { word: 'Failed', has: (phase: Phase) => phase === 'failed' },
  stopped: { word: 'Stopped', has: (phase: Phase) => phase === 'idle' || phase === 'stopping' },
} as const

export type Group = keyof typeof GROUPS

/** Why there is no video, and what to do; undefined without a fault. `reported`: the last fault of the event stream. */
export const faultText = ({ runtime }: Pipeline, reported: string | undefined): string | undefined =>
  runtime.phase === 'playing' || runtime.phase === 'stopping' ? undefined : (runtime.last_error?.message ?? reported)
