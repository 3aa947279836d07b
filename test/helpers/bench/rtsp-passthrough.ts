/**
 * The publisher fed by an RTSP source that is passed through, as a process of its own: rtsp-passthrough.ts PORT PATH URL.
 * Prints "ready".
 */
import { createPlanner, type Plan } from '../../../engine/launch/plan.ts'
import { LogRing } from '../../../engine/play/log-ring.ts'
import { MediaStats } from '../../../engine/play/media-stats.ts'
import { runPlan } from '../../../engine/play/run-plan.ts'
import type { RunEvent } from '../../../engine/play/watchdog.ts'
import { createMediaStreams } from '../../../engine/rtp/media-streams.ts'
import { createPublisher } from '../../../engine/rtsp/publisher/publisher.ts'
import { DEFAULT_SETTINGS } from '../../../lib/schema/settings.ts'
import { configure } from '../media/play-launch.ts'
import { silentLog } from '../rtsp/media.ts'

const [port = '0', path = 'bench', url = ''] = process.argv.slice(2)
const planner = createPlanner({ allowFiles: false })
const ends = new AbortController()
const streams = createMediaStreams()
const mount = await createPublisher({ log: silentLog }).mount(
  { host: '127.0.0.1', port: Number(port), path },
  { streams: [streams[0]], maxReaders: () => 10_000, describeTimeoutMs: () => 10_000 },
)
const report = (event: RunEvent): void => {
  if (event.type === 'media') console.log('ready')
}
const context = {
  number: 1,
  streams,
  mediaStats: new MediaStats(),
  logRing: new LogRing(() => 0),
  signal: ends.signal,
  startTimeoutMs: 20_000,
  stallTimeoutMs: () => 20_000,
  report,
}
const plan: Plan = await planner.plan(configure(url, null), DEFAULT_SETTINGS, {
  signal: ends.signal,
  timeoutMs: 10_000,
  previousFault: undefined,
})
process.on('SIGTERM', () => ends.abort())
if ('launch' in plan) throw new Error('The source needs a child')
const fault = await runPlan(context, plan)
if (fault !== undefined) console.error(fault.message)
if (process.env.BENCH_STATS) console.error(JSON.stringify(mount.stats))
process.exit()
