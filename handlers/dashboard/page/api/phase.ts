import type { Pipeline } from './types.ts'

/** Whether there is video to watch. Reading the video of another on-demand pipeline would start it. */
export const hasVideo = ({ runtime: { phase } }: Pipeline): boolean => phase === 'playing' || phase === 'reconnecting'

/** Whether live video comes with sound. Browsers have no decoder for MP2. */
export const hasSound = ({ runtime: { audio } }: Pipeline): boolean => audio?.carried === true && audio.codec !== 'mp2'

/** Whether the pipeline neither runs nor starts. */
export const isAtRest = ({ runtime: { phase } }: Pipeline): boolean => phase === 'idle' || phase === 'failed'

/** Its KLV is decoded. */
export const hasKlv = ({ klv }: Pick<Pipeline, 'klv'>): boolean => klv.available && klv.state === 'playing'
