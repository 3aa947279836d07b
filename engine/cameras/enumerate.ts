import { ApiError } from '../../lib/errors.ts'
import { type Finished, runToEnd } from '../gst/child.ts'
import { createMonitorParser, type ListedDevice } from './monitor-output.ts'

export const MONITOR_PROGRAM = 'gst-device-monitor-1.0'

/** `-i`: PipeWire and libcamera hide the V4L2 provider, which alone tells paths, drivers and every format. */
export const MONITOR_ARGUMENTS: readonly string[] = ['-i', 'Video/Source']

const MAX_OUTPUT_BYTES = 8 * 1024 * 1024
/** How long after the monitor was killed its end may take to be seen. */
const GRACE_MS = 500

/** Lists the video devices of the host once. Throws SERVICE_UNAVAILABLE when the monitor is missing, fails or takes longer than `timeoutMs`. */
export const enumerateDevices = async (timeoutMs: number, signal: AbortSignal): Promise<readonly ListedDevice[]> => {
  const run = runToEnd(MONITOR_PROGRAM, MONITOR_ARGUMENTS, { timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES, signal, reach: 'host' })
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
  if (result.exitCode !== 0) {
    // "Failed to start device monitor!": no provider could be started, which is so when the V4L2 plugin is missing.
    throw unavailable('monitor_failed', 'The camera monitor could not start. Install the package gstreamer1.0-plugins-good.')
  }
  return createMonitorParser()
    .push(`${result.stdout}\n\n`)
    .flatMap((event) => (event.type === 'added' ? [event.device] : []))
}

/** The result, or undefined after that time: gst-plugin-scanner may hang in a driver, outlive the monitor and hold its pipes. */
const within = async (run: Promise<Finished>, ms: number): Promise<Finished | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([run, late])
  } finally {
    clearTimeout(timer)
  }
}

const unavailable = (reason: string, message: string): ApiError => new ApiError('SERVICE_UNAVAILABLE', message, { reason })
