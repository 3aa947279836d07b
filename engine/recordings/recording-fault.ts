import type { ErrorCode } from '../../lib/errors.ts'
import { diskFault, errorCode } from '../screenshots/files/disk-error.ts'

/** Why nothing is recorded. */
export interface RecordingFault {
  readonly code: ErrorCode
  readonly reason: string
  readonly message: string
}

export const isRecordingFault = (error: unknown): error is RecordingFault =>
  typeof error === 'object' && error !== null && !(error instanceof Error) && 'reason' in error && 'message' in error

/** The disk takes less than comes. */
export const DISK_SLOW: RecordingFault = {
  code: 'SERVICE_UNAVAILABLE',
  reason: 'disk_slow',
  message: 'The disk takes the video more slowly than it comes: what came meanwhile is not recorded. Use a faster disk, or record less.',
}

export const DIRECTORY_IN_USE: RecordingFault = {
  code: 'SERVICE_UNAVAILABLE',
  reason: 'recordings_in_use',
  message: 'Another service uses the directory of the recordings. Stop it, or set SVC_RECORDINGS_DIR to another directory.',
}

export const NO_ROOM: RecordingFault = {
  code: 'SERVICE_UNAVAILABLE',
  reason: 'disk_full',
  message:
    'The disk has less free space than recordings.min_free_gigabytes of the settings, and there is nothing left to delete. Free space on it, or lower the setting.',
}

export const wrongCodec = (codec: string): RecordingFault => ({
  code: 'CONFLICT',
  reason: 'unsupported',
  message: `MPEG-TS does not carry ${codec} here. Re-encode the video to H.264 or H.265.`,
})

/** The fault that an error of the file system means. */
export const recordingFault = (error: unknown): RecordingFault => {
  const { reason, what } = diskFault(error)
  const code = errorCode(error)
  return {
    code: 'SERVICE_UNAVAILABLE',
    reason,
    message: `The recording cannot be written: ${what}${reason === 'disk_error' && code !== undefined ? ` (${code})` : ''}. It is tried again.`,
  }
}
