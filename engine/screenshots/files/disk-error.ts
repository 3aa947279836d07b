/** Code of a file system error: ENOSPC, EROFS … Undefined for other errors. */
export const errorCode = (error: unknown): string | undefined =>
  error instanceof Error && 'errno' in error && 'code' in error && typeof error.code === 'string' ? error.code : undefined

interface DiskFault {
  /** For programs. */
  readonly reason: string
  /** For users. */
  readonly what: string
}

const FAULTS: Readonly<Record<string, DiskFault>> = {
  ENOSPC: { reason: 'disk_full', what: 'the disk is full' },
  EDQUOT: { reason: 'disk_full', what: 'the disk quota is used up' },
  EROFS: { reason: 'disk_read_only', what: 'the disk is read-only' },
  EACCES: { reason: 'disk_permission', what: 'the folder is not writable' },
  EPERM: { reason: 'disk_permission', what: 'the folder is not writable' },
  ENOENT: { reason: 'disk_missing', what: 'the folder is missing' },
  EMFILE: { reason: 'too_many_open_files', what: 'too many files are open' },
}

/** The fault that a file system error means, by its code. */
export const diskFault = (error: unknown): DiskFault =>
  FAULTS[errorCode(error) ?? ''] ?? { reason: 'disk_error', what: 'the disk reports an error' }
