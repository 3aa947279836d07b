import { ApiError } from '../../lib/errors.ts'
import type { Log } from '../../lib/ports.ts'
import { Fault, type FaultReason } from '../faults/fault.ts'

/** By the reasons with which an output does not open, or the settings refuse a description. */
const FAULTS: Readonly<Record<string, FaultReason>> = {
  port_in_use: 'port_in_use',
  listen_failed: 'output_unavailable',
  advanced_disabled: 'advanced_disabled',
  denied_element: 'denied_element',
}

/** An error of opening the output or planning the launch, as the fault that ends an attempt. */
export const toFault = (error: unknown, id: string, log: Log): Fault => {
  if (error instanceof Fault) return error
  if (error instanceof ApiError)
    return new Fault(FAULTS[String(error.details.reason)] ?? 'bad_description', error.message, { cause: error })
  log.error('pipeline_start_broke', { pipeline_id: id, error })
  return new Fault('crashed', 'The engine failed while it started the pipeline. See its log.', { cause: error })
}

/** The answer of a start without media in the start timeout; `cause`: what ended its attempts, undefined while the first still runs. */
export const startTimeout = (cause: Fault | undefined, timeoutMs: number): ApiError => {
  const seconds = Math.round(timeoutMs / 1000)
  const fault = cause ?? new Fault('timeout', `No video came within ${seconds} s. Check that the source sends video now.`)
  return new ApiError('PIPELINE_START_TIMEOUT', `The pipeline did not start within ${seconds} s. ${fault.message}`, {
    cause: fault.message,
    reason: fault.reason,
  })
}
