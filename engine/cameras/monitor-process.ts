import { within } from '../../lib/pause.ts'
import { type Child, type Ended, startChild } from '../gst/child.ts'
import { MONITOR_ARGUMENTS, MONITOR_PROGRAM } from './enumerate.ts'
import { createMonitorParser, type MonitorEvent } from './monitor-output.ts'

const KILL_AFTER_MS = 1000
/** Without output for this long after its start, the monitor has reported all attached devices. */
const SETTLE_MS = 1000

export type DeviceChange = Exclude<MonitorEvent, { type: 'started' }>

export interface MonitorProcess {
  readonly ended: Promise<Ended>
  /** Ends the process; resolves when it is reaped. */
  stop(): Promise<void>
}

/**
 * Starts a long-lived gst-device-monitor-1.0. It reports the attached devices first, then each hot-plug; `onSettled` is called
 * once, between the two. Killed when its providers do not start within `startTimeoutMs`.
 */
export const startMonitorProcess = (options: {
  readonly startTimeoutMs: number
  readonly onChange: (change: DeviceChange) => void
  readonly onSettled: () => void
}): MonitorProcess => {
  const child = startChild(MONITOR_PROGRAM, ['-f', ...MONITOR_ARGUMENTS], { mediaPipes: 0, reach: 'host' })
  const parser = createMonitorParser()
  let settled = false
  let timer = setTimeout(() => child.kill('SIGKILL'), options.startTimeoutMs)
  const settleSoon = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      settled = true
      options.onSettled()
    }, SETTLE_MS)
  }
  let started = false
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (text: string) => {
    for (const event of parser.push(text)) {
      if (event.type === 'started') started = true
      else options.onChange(event)
    }
    if (started && !settled) settleSoon()
  })
  child.stdout.on('error', () => {})
  // libcamera and PipeWire write diagnostics here; an error ends the process.
  child.stderr.resume()
  child.stderr.on('error', () => {})
  void child.ended.then(() => {
    clearTimeout(timer)
    settled = true
  })
  return { ended: child.ended, stop: () => stopChild(child) }
}

const stopChild = async (child: Child): Promise<void> => {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
  await within(child.ended, 2 * KILL_AFTER_MS)
  clearTimeout(timer)
}
