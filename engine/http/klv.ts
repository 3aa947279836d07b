import { cotEvent } from '../cot/event.ts'
import type { VideoUrl } from '../cot/video-url.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Answers } from './dispatch.ts'

export const klvAnswers = (supervisor: Pick<Supervisor, 'klv' | 'view' | 'position'>, videoUrl: VideoUrl): Answers<'klv'> => ({
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
  latestCot: async (id, { host }) => {
    const { output, ...position } = supervisor.position(id)
    return cotEvent({ ...position, videoUrl: videoUrl(output, host) }, Date.now())
  },
  events: (id) => {
    const tap = supervisor.klv(id)
    return ({ push, end }) => tap.subscribe({ onPacket: (packet) => push({ type: 'klv', id, packet }), onEnd: end })
  },
})
