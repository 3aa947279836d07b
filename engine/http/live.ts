import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Answers } from './dispatch.ts'

/** Live video over HTTP. */
export const liveAnswers = (supervisor: Pick<Supervisor, 'live'>): Answers<'live'> => ({
  video: (id, signal) => supervisor.live(id).open('video', signal),
  ts: (id, { start }, signal) => supervisor.live(id).open('ts', signal, { catchUp: start === 'now' }),
})
