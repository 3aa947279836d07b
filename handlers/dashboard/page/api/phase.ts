import type { Pipeline } from './types.ts'

/** Whether there is video to watch. Reading the video of another on-demand pipeline would start it. */
export const hasVideo = ({ runtime: { phase } }: Pipeline): boolean => phase === 'playing' || phase === 'reconnecting'

/** Whether the pipeline neither runs nor starts. */
export const isAtRest = ({ runtime: { phase } }: Pipeline): boolean => phase === 'idle' || phase === 'failed'
