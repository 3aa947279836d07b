import type { EngineStatus } from '../../lib/engine/messages.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Answers } from './dispatch.ts'

export const pipelineAnswers = (
  supervisor: Supervisor,
  status: () => Promise<Omit<EngineStatus, 'configured' | 'playing'>>,
): Answers<'engine'> => ({
  status: async () => ({ ...(await status()), configured: supervisor.configured, playing: supervisor.playing }),
  configure: (settings) => supervisor.configure(settings),
  check: (config) => supervisor.check(config),
  list: () => supervisor.list(),
  view: (id) => supervisor.view(id),
  put: (config, { create }) => supervisor.put(config, create),
  remove: (id, { force }) => supervisor.remove(id, force),
  play: (id, { wait }) => supervisor.play(id, wait),
  stop: (id) => supervisor.stop(id),
  log: (id) => supervisor.log(id),
  events: () => (sink) => supervisor.subscribe(sink.push),
})
