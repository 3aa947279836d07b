import type { Pipeline } from './types.ts'

/** Whether there is a picture to watch; to read any other on-demand pipeline would start it. */
export const hasVideo = ({ runtime: { phase } }: Pipeline): boolean => phase === 'playing' || phase === 'reconnecting'
