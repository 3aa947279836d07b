import { Readable } from 'node:stream'
import type { CameraReport } from '../../lib/schema/camera.ts'
import type { CameraMonitor } from '../cameras/monitor.ts'
import { type EngineRoute, RawAnswer } from './server.ts'

const HEARTBEAT_MS = 5000
/** A follower that reads this slowly is cut off; it comes back and compares what is attached with what it knows. */
const MAX_BACKLOG_BYTES = 256 * 1024

/** One route per method of the Cameras port. */
export const cameraRoutes = (monitor: Pick<CameraMonitor, 'list' | 'capabilities' | 'onChange'>): readonly EngineRoute[] => [
  { method: 'GET', path: /^\/cameras$/, answer: () => monitor.list() },
  { method: 'GET', path: /^\/camera$/, answer: ({ query }) => monitor.capabilities(query.get('path') ?? '') },
  {
    method: 'GET',
    path: /^\/cameras\/events$/,
    answer: async () => {
      // A host that cannot tell its cameras answers why, instead of a stream that stays silent.
      await monitor.list()
      return new RawAnswer(200, { 'content-type': 'application/x-ndjson' }, cameraLines(monitor))
    },
  },
]

/** One JSON object per line: what is attached, then each change, and a heartbeat every 5 s; ends with the reader. */
const cameraLines = (monitor: Pick<CameraMonitor, 'list' | 'onChange'>): Readable => {
  const lines = new Readable({
    read: () => {},
    destroy: (error, done) => {
      clearInterval(heartbeat)
      unfollow()
      done(error)
    },
  })
  const send = (line: CameraReport): void => {
    if (lines.destroyed) return
    if (lines.readableLength > MAX_BACKLOG_BYTES) lines.destroy(new Error('The follower does not read'))
    else lines.push(`${JSON.stringify(line)}\n`)
  }
  const heartbeat = setInterval(() => send({ type: 'heartbeat' }), HEARTBEAT_MS)
  // Followed before it is listed: a change between the two may be told twice, never lost.
  const unfollow = monitor.onChange(send)
  monitor.list().then(
    (cameras) => send({ type: 'cameras', cameras }),
    (error: Error) => lines.destroy(error),
  )
  return lines
}
