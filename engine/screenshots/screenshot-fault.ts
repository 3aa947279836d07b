import { ApiError, type ErrorCode } from '../../lib/errors.ts'
import { codeOf } from './files/disk-error.ts'

export interface ScreenshotFault {
  readonly code: ErrorCode
  readonly message: string
  readonly cause: string
}

const GOES_ON = 'Screenshots go on by themselves as soon as that is mended; the stream is not affected.'

const DISK: Readonly<Record<string, { readonly cause: string; readonly what: string }>> = {
  ENOSPC: { cause: 'disk_full', what: 'the disk is full' },
  EDQUOT: { cause: 'disk_full', what: 'the disk quota is used up' },
  EROFS: { cause: 'disk_read_only', what: 'the disk is read-only' },
  EACCES: { cause: 'disk_permission', what: 'the folder may not be written to' },
  EPERM: { cause: 'disk_permission', what: 'the folder may not be written to' },
  ENOENT: { cause: 'disk_missing', what: 'the folder is gone' },
  EMFILE: { cause: 'too_many_open_files', what: 'too many files are open' },
}

/** What is wrong with the disk, by the code of the file system's error; `cause` is for programs. */
export const diskFault = (error: unknown): { readonly cause: string; readonly what: string } =>
  DISK[codeOf(error) ?? ''] ?? { cause: 'disk_error', what: 'the disk answers with an error' }

/** What a user is told of a periodic picture that failed; undefined when there is nothing to tell, as of a source that is away. */
export const screenshotFault = (error: unknown): ScreenshotFault | undefined => {
  if (error instanceof ApiError) {
    if (error.code === 'CONFLICT') return undefined
    return { code: error.code, message: `A screenshot failed. ${error.message}`, cause: String(error.details.reason ?? 'failed') }
  }
  const { cause, what } = diskFault(error)
  return { code: 'ENGINE_ERROR', message: `The screenshot could not be stored: ${what}. ${GOES_ON}`, cause }
}
