import type { Phase, Pipeline } from '../api/types.ts'

/** What a state is drawn with besides its word. */
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

export const phaseWords = ({ runtime, on_demand }: Pipeline): PhaseWords =>
  runtime.phase === 'idle' && on_demand ? WAITING : PHASES[runtime.phase]

/** One sentence on what is going on. */
export const phaseSentence = (pipeline: Pipeline): string => {
  const { phase } = pipeline.runtime
  if (phase === 'playing') return 'Video comes in and is served.'
  if (phase === 'starting') return 'Waiting for the first picture of the source.'
  if (phase === 'reconnecting') return 'The source is away. Readers stay connected and get video again as soon as it is back.'
  if (phase === 'stopping') return 'Ending the stream.'
  if (phase === 'failed') return 'It does not try again by itself. Correct the cause, then play it.'
  return pipeline.on_demand ? 'Starts with its first reader, or when you play it.' : 'Nothing runs. Play it to see it.'
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

/** Why there is no video, in words with what to do; undefined while all is well. */
export const faultText = ({ runtime }: Pipeline, told: string | undefined): string | undefined =>
  runtime.phase === 'playing' || runtime.phase === 'stopping' ? undefined : (runtime.last_error?.message ?? told)
