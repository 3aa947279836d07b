import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Answers } from './dispatch.ts'

export const klvAnswers = (supervisor: Pick<Supervisor, 'klv' | 'view'>): Answers<'klv'> => ({
  start: (id) => {
    supervisor.klv(id).start()
    return supervisor.view(id)
  },
  stop: (id) => {
    supervisor.klv(id).stop()
    return supervisor.view(id)
  },
  latest: (id) => supervisor.klv(id).latest(),
  latestFeature: (id) => supervisor.klv(id).latestFeature(),
  latestFootprint: (id) => supervisor.klv(id).latestFootprint(),
  events: (id) => {
    const tap = supervisor.klv(id)
    return ({ push }) => tap.subscribe((packet) => push({ type: 'klv', id, packet }))
  },
})
