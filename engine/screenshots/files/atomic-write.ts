import { constants } from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'

/** Suffix of a file that is still being written. */
export const PART_SUFFIX = '.part'

/** Writes a file under a temporary name, flushes it and renames it, so that a reader sees it complete or not at all. */
export const writeAtomically = async (path: string, bytes: Buffer): Promise<void> => {
  const part = `${path}${PART_SUFFIX}`
  try {
    const handle = await open(part, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await rename(part, path)
  } catch (error) {
    await unlink(part).catch(() => {})
    throw error
  }
}
