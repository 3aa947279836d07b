import { ApiError } from '../lib/errors.ts'

/**
 * Why a run could not start or ended. A transient fault is retried with backoff; a permanent one
 * (bad description, missing element, 401, 404, unsupported codec) needs a user and is not.
 */
export const FAULTS = {
  unreachable: 'transient', // refused, no route, name not resolved
  timeout: 'transient', // nothing came within the start timeout
  stalled: 'transient', // media stopped coming
  ended: 'transient', // EOS, or the source closed
  crashed: 'transient', // the child died of a signal or of an unknown error
  source_error: 'transient', // the source answered with a 5xx or broke the protocol
  port_in_use: 'transient', // another program has the output port
  device_busy: 'transient', // the camera is open in another program
  device_missing: 'transient', // the camera is unplugged
  unauthorized: 'permanent', // 401, 403
  not_found: 'permanent', // 404
  bad_description: 'permanent', // the engine rejects the description
  missing_element: 'permanent', // an element or encoder is not installed
  unsupported: 'permanent', // codec or format that cannot be served as asked
  permission: 'permanent', // the device or file may not be opened
  engine_missing: 'permanent', // gst-launch-1.0 itself is not installed
} as const satisfies Record<string, 'transient' | 'permanent'>

export type FaultCause = keyof typeof FAULTS

export class Fault extends Error {
  readonly reason: FaultCause

  /** `message`: what happened and what to do, in words a user can act on, without credentials. */
  constructor(reason: FaultCause, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Fault'
    this.reason = reason
  }

  get permanent(): boolean {
    return FAULTS[this.reason] === 'permanent'
  }
}

/** Faults of the source that may pass while somebody waits for a start; every other one is answered at once. */
const WORTH_WAITING: ReadonlySet<FaultCause> = new Set(['unreachable', 'timeout', 'stalled', 'source_error'])

/** Whether a start that somebody waits for goes on trying after this fault. */
export const worthWaiting = (fault: Fault): boolean => WORTH_WAITING.has(fault.reason)

/**
 * Whether a pipeline that runs without anybody waiting goes on trying. A 404 passes: a media server answers it
 * until its publisher is back. A 401 does not: repeating a wrong password locks cameras.
 */
export const worthRetrying = (fault: Fault): boolean => !fault.permanent || fault.reason === 'not_found'

/** The answer of a start that failed with this fault; `details.cause` tells why, `details.reason` is for programs. */
export const faultToApiError = (fault: Fault): ApiError => {
  const details = { cause: fault.message, reason: fault.reason }
  if (fault.reason === 'engine_missing' || fault.reason === 'port_in_use') {
    return new ApiError('SERVICE_UNAVAILABLE', fault.message, details, { cause: fault })
  }
  if (worthWaiting(fault))
    return new ApiError('PIPELINE_START_TIMEOUT', `The pipeline did not start in time. ${fault.message}`, details, { cause: fault })
  return new ApiError('ENGINE_ERROR', `The pipeline could not start. ${fault.message}`, details, { cause: fault })
}
