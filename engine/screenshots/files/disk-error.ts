/** Code of a file system error: ENOSPC, EROFS … Undefined for other errors. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

interface DiskFault {
  /** For programs. */
  readonly cause: string
  /** For users. */
  readonly what: string
}

const FAULTS: Readonly<Record<string, DiskFault>> = {
  ENOSPC: { cause: 'disk_full', what: 'the disk is full' },
  EDQUOT: { cause: 'disk_full', what: 'the disk quota is used up' },
  EROFS: { cause: 'disk_read_only', what: 'the disk is read-only' },
  EACCES: { cause: 'disk_permission', what: 'the folder is not writable' },
  EPERM: { cause: 'disk_permission', what: 'the folder is not writable' },
  ENOENT: { cause: 'disk_missing', what: 'the folder is missing' },
  EMFILE: { cause: 'too_many_open_files', what: 'too many files are open' },
}

/** The fault that a file system error means, by its code. */
export const diskFault = (error: unknown): DiskFault =>
  FAULTS[errorCode(error) ?? ''] ?? { cause: 'disk_error', what: 'the disk reports an error' }
