import { ApiError, type ErrorCode } from '../../lib/errors.ts'
import { diskFault } from './files/disk-error.ts'

interface ScreenshotFault {
  readonly code: ErrorCode
  readonly message: string
  readonly cause: string
  /** For programs. */
  readonly reason: string
}

/** The fault of a periodic screenshot, as a `pipeline_error` reports it; undefined for CONFLICT: the source is away. */
export const screenshotFault = (error: unknown): ScreenshotFault | undefined => {
  if (error instanceof ApiError) {
    if (error.code === 'CONFLICT') return undefined
    const reason = String(error.details.reason ?? 'failed')
    return { code: error.code, message: `A screenshot failed. ${error.message}`, cause: error.message, reason }
  }
  const { reason, what } = diskFault(error)
  const message = `The screenshot could not be stored: ${what}. Screenshots resume once this is fixed; the stream is not affected.`
  return { code: 'ENGINE_ERROR', message, cause: `${what[0]?.toUpperCase()}${what.slice(1)}.`, reason }
}
