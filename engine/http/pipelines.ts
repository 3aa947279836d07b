import type { EngineStatus } from '../../lib/engine/messages.ts'
import type { RateSample } from '../../lib/schema/log.ts'
import type { CotSender } from '../cot/sender.ts'
import { searchLogs } from '../pipelines/search-log.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import type { Answers } from './dispatch.ts'

export const pipelineAnswers = (
  supervisor: Supervisor,
  status: () => Promise<Omit<EngineStatus, 'configured' | 'playing'>>,
  cot: Pick<CotSender, 'configure'>,
  history: (id: string) => readonly RateSample[],
): Answers<'engine'> => ({
  status: async () => ({ ...(await status()), configured: supervisor.configured, playing: supervisor.playing }),
  configure: (settings) => {
    supervisor.configure(settings)
    cot.configure(settings.cot)
  },
  check: (config) => supervisor.check(config),
  list: () => supervisor.list(),
  listRunning: () => supervisor.listRunning(),
  view: (id) => supervisor.view(id),
  put: (config, options) => supervisor.put(config, options),
  remove: (id, { force }) => supervisor.remove(id, force),
  play: (id, options) => supervisor.play(id, options),
  stop: (id) => supervisor.stop(id),
  log: (id) => supervisor.log(id),
  logs: ({ search = '', ...others }) =>
    searchLogs(
      supervisor.list().map(({ id }) => ({ id, lines: supervisor.log(id) })),
      { search, ...others },
    ),
  history: (id) => history(supervisor.view(id).id),
  events: () => (sink) => supervisor.subscribe(sink.push),
})
