import { type Child, type Ended, startChild } from '../gst/child.ts'
import { MONITOR_ARGUMENTS, MONITOR_PROGRAM } from './enumerate.ts'
import { createMonitorParser, type MonitorEvent } from './monitor-output.ts'

const KILL_AFTER_MS = 1000
/** This long without a word after its start, and the monitor has told every device that is there. */
const SETTLE_MS = 1000

export type DeviceChange = Exclude<MonitorEvent, { type: 'started' }>

export interface Follower {
  readonly pid: number | undefined
  readonly ended: Promise<Ended>
  /** Ends the child; resolves when it is reaped. */
  stop(): Promise<void>
}

/**
 * Starts the one long-lived gst-device-monitor-1.0. It tells first the devices that are there, then each that comes or goes;
 * `onSettled` is called once, after the former. Killed when its providers do not start within `patienceMs`.
 */
export const startFollower = (options: {
  readonly patienceMs: number
  readonly onChange: (change: DeviceChange) => void
  readonly onSettled: () => void
}): Follower => {
  const child = startChild(MONITOR_PROGRAM, ['-f', ...MONITOR_ARGUMENTS], { mediaPipes: 0, reach: 'host' })
  const parser = createMonitorParser()
  let settled = false
  let timer = setTimeout(() => child.kill('SIGKILL'), options.patienceMs)
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
  // libcamera and PipeWire chat here; what matters is told by the end of the child.
  child.stderr.resume()
  child.stderr.on('error', () => {})
  void child.ended.then(() => {
    clearTimeout(timer)
    settled = true
  })
  return { pid: child.pid, ended: child.ended, stop: () => stopChild(child) }
}

/** Waits no longer than twice its patience: a helper of the monitor that hangs in a driver may hold its pipes. */
const stopChild = async (child: Child): Promise<void> => {
  child.kill('SIGTERM')
  const given = Promise.withResolvers<void>()
  const timers = [setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS), setTimeout(given.resolve, 2 * KILL_AFTER_MS)]
  await Promise.race([child.ended, given.promise])
  for (const timer of timers) clearTimeout(timer)
}
