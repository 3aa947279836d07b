import { Readable } from 'node:stream'
import type { KlvTap } from '../klv/tap.ts'
import type { Supervisor } from '../pipelines/supervisor.ts'
import { pipelinePath } from './pipelines.ts'
import { type EngineRoute, RawAnswer } from './server.ts'

const HEARTBEAT_MS = 5000
/** A follower that reads this slowly is cut off; it comes back and goes on with the present. */
const MAX_BACKLOG_BYTES = 1024 * 1024

/** One route per method of the Klv port. */
export const klvRoutes = (supervisor: Pick<Supervisor, 'klv' | 'view'>): readonly EngineRoute[] => [
  {
    method: 'POST',
    path: pipelinePath('/klv/start'),
    answer: ({ id }) => {
      supervisor.klv(id).start()
      return supervisor.view(id)
    },
  },
  {
    method: 'POST',
    path: pipelinePath('/klv/stop'),
    answer: ({ id }) => {
      supervisor.klv(id).stop()
      return supervisor.view(id)
    },
  },
  {
    method: 'GET',
    path: pipelinePath('/klv'),
    answer: ({ id, query }) => (query.get('format') === 'geojson' ? supervisor.klv(id).latestFeature() : supervisor.klv(id).latest()),
  },
  {
    method: 'GET',
    path: pipelinePath('/klv/events'),
    answer: ({ id }) => new RawAnswer(200, { 'content-type': 'application/x-ndjson' }, klvLines(id, supervisor.klv(id))),
  },
]

/** One JSON object per line for each packet decoded from now on, and a heartbeat every 5 s; ends with the reader. */
const klvLines = (id: string, tap: KlvTap): Readable => {
  const lines = new Readable({
    read: () => {},
    destroy: (error, done) => {
      clearInterval(heartbeat)
      unsubscribe()
      done(error)
    },
  })
  const send = (line: object): void => {
    if (lines.readableLength > MAX_BACKLOG_BYTES) lines.destroy(new Error('The follower does not read'))
    else lines.push(`${JSON.stringify(line)}\n`)
  }
  const heartbeat = setInterval(() => send({ type: 'heartbeat' }), HEARTBEAT_MS)
  const unsubscribe = tap.subscribe((packet) => send({ type: 'klv', id, packet }))
  send({ type: 'heartbeat' })
  return lines
}
