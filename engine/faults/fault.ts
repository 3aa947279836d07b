import { ApiError, type ErrorCode } from '../../lib/errors.ts'

/**
 * Why a run could not start or ended. A transient fault is retried with backoff; a permanent one
 * (bad description, missing element, unsupported codec) is not, since a user has to correct it. 401 and 404: see worthRetrying.
 */
const FAULTS = {
  unreachable: 'transient', // refused, no route, name not resolved
  timeout: 'transient', // no media within the start timeout
  stalled: 'transient', // no more media
  ended: 'transient', // EOS, or the source closed
  crashed: 'transient', // the child was killed by a signal or failed with an unknown error
  source_error: 'transient', // the source answered with a 5xx or violated the protocol
  source_flood: 'transient', // the source sends more than the engine can read without delaying the others
  port_in_use: 'transient', // another program uses the output port
  output_unavailable: 'transient', // the output address is not one of this host, or cannot be opened
  device_busy: 'transient', // the camera is open in another program
  device_missing: 'transient', // the camera is unplugged
  unauthorized: 'permanent', // 401, 403
  not_found: 'permanent', // 404
  bad_description: 'permanent', // the engine rejects the description
  missing_element: 'permanent', // an element or encoder is not installed
  unsupported: 'permanent', // codec or format that cannot be served as configured
  permission: 'permanent', // no permission to open the device or file
  advanced_disabled: 'permanent', // the settings allow no advanced pipelines
  denied_element: 'permanent', // the settings do not allow an element of the description
  engine_missing: 'permanent', // gst-launch-1.0 itself is not installed
} as const satisfies Record<string, 'transient' | 'permanent'>

export type FaultReason = keyof typeof FAULTS

interface FaultOptions extends ErrorOptions {
  readonly isAway?: boolean | undefined
}

export class Fault extends Error {
  readonly reason: FaultReason
  /** Nothing is at the address: the connection is refused, or the host unknown or not to be reached. */
  readonly isAway: boolean

  /** `message` is shown to users: what happened, then what to do, without credentials. */
  constructor(reason: FaultReason, message: string, { isAway = false, ...options }: FaultOptions = {}) {
    super(message, options)
    this.name = 'Fault'
    this.reason = reason
    this.isAway = isAway
  }

  get permanent(): boolean {
    return FAULTS[this.reason] === 'permanent'
  }
}

/** The fault with the credentials in its message masked. */
export const maskFault = (fault: Fault, mask: (text: string) => string): Fault =>
  new Fault(fault.reason, mask(fault.message), { isAway: fault.isAway, ...(fault.cause !== undefined && { cause: fault.cause }) })

/** Faults of the source that may pass while a request waits for the start; the others end the request at once. */
const WORTH_WAITING: ReadonlySet<FaultReason> = new Set(['unreachable', 'timeout', 'stalled', 'source_error'])

/** Whether a start is tried again after this fault while a request waits for it. */
export const worthWaiting = (fault: Fault): boolean => WORTH_WAITING.has(fault.reason)

/**
 * Whether a start is tried again after this fault while no request waits for it. Also after a 404, which a media server answers
 * until its publisher is back. After a 401 a play counts, since cameras lock after repeated wrong passwords.
 */
export const worthRetrying = (fault: Fault): boolean => !fault.permanent || fault.reason === 'not_found'

/** Faults of the settings. */
const FORBIDDEN: ReadonlySet<FaultReason> = new Set(['advanced_disabled', 'denied_element'])

/** Faults of this host, not of the source or the configuration. */
const UNAVAILABLE: ReadonlySet<FaultReason> = new Set(['engine_missing', 'port_in_use', 'output_unavailable'])

/** The code of a fault; `hadMedia`: the pipeline has played, so its start did not fail. */
export const faultCode = (fault: Fault, hadMedia = false): ErrorCode => {
  if (FORBIDDEN.has(fault.reason)) return 'FORBIDDEN'
  if (UNAVAILABLE.has(fault.reason)) return 'SERVICE_UNAVAILABLE'
  return worthWaiting(fault) && !hadMedia ? 'PIPELINE_START_TIMEOUT' : 'ENGINE_ERROR'
}

/** The begin of the message, before that of the fault. */
const START_FAILED: Partial<Record<ErrorCode, string>> = {
  PIPELINE_START_TIMEOUT: 'The pipeline did not start in time. ',
  ENGINE_ERROR: 'The pipeline could not start. ',
}

/** The API error of a start that failed with this fault; `details.cause` is for users, `details.reason` for programs. */
export const faultToApiError = (fault: Fault): ApiError => {
  const code = faultCode(fault)
  const details = { cause: fault.message, reason: fault.reason }
  return new ApiError(code, `${START_FAILED[code] ?? ''}${fault.message}`, details, { cause: fault })
}
