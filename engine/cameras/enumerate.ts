import { ApiError } from '../../lib/errors.ts'
import { within } from '../../lib/pause.ts'
import { notStarted } from '../gst/bus-errors.ts'
import { runToEnd } from '../gst/child.ts'
import { createMonitorParser, type ListedDevice } from './monitor-output.ts'

export const MONITOR_PROGRAM = 'gst-device-monitor-1.0'

/** `-i` also runs the hidden providers: PipeWire and libcamera hide V4L2, the only one with paths, drivers and all formats. */
export const MONITOR_ARGUMENTS: readonly string[] = ['-i', 'Video/Source']

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
/** From the kill of the monitor to the report of its end. */
const GRACE_MS = 500

/** Lists the video devices of the host once. SERVICE_UNAVAILABLE when the monitor is missing, fails or takes longer than `timeoutMs`. */
export const enumerateDevices = async (timeoutMs: number, signal: AbortSignal): Promise<readonly ListedDevice[]> => {
  const run = runToEnd(MONITOR_PROGRAM, MONITOR_ARGUMENTS, { timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal, reach: 'host' })
  // What the monitor started may hang in a driver, outlive it and keep its pipes open.
  const result = await within(run, timeoutMs + GRACE_MS)
  if (result?.missing) {
    throw unavailable('monitor_missing', `${MONITOR_PROGRAM} is not installed. Install the package gstreamer1.0-plugins-base-apps.`)
  }
  if (result === undefined || result.timedOut) {
    throw unavailable(
      'monitor_timeout',
      `The cameras did not answer within ${timeoutMs / 1000} s. Unplug a camera that hangs, then try again.`,
    )
  }
  if (result.refused !== undefined) throw unavailable('monitor_failed', notStarted(result.refused).message)
  if (result.exitCode !== 0) {
    // "Failed to start device monitor!": no provider could start, which happens without the V4L2 plugin.
    throw unavailable('monitor_failed', 'The camera monitor could not start. Install the package gstreamer1.0-plugins-good.')
  }
  return createMonitorParser()
    .push(`${result.stdout}\n\n`)
    .flatMap((event) => (event.type === 'added' ? [event.device] : []))
}

const unavailable = (reason: string, message: string): ApiError => new ApiError('SERVICE_UNAVAILABLE', message, { reason })
