import { readFile, stat } from 'node:fs/promises'
import type { LicenseSource } from '../../lib/license/license.ts'

/**
 * Two writes within this time may leave the same times in the file system, milliseconds: a file that changed so recently is
 * read again.
 */
const COARSE_MS = 2000

interface LicenseFileDeps {
  readonly read: (path: string) => Promise<string>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

const DEPS: LicenseFileDeps = { read: (path) => readFile(path, 'utf8'), now: () => Date.now() }

/** The license file, read again only when it has changed; a changed file counts at the next call. */
export const createLicenseFile = (path: string | undefined, { read, now }: LicenseFileDeps = DEPS): LicenseSource => {
  let known: { readonly version: string; readonly text: string } | undefined
  return {
    read: async () => {
      if (path === undefined) return null
      const { dev, ino, size, mtimeMs, ctimeMs } = await stat(path)
      const version = [dev, ino, size, mtimeMs, ctimeMs].join(' ')
      if (known?.version === version) return known.text
      const text = await read(path)
      known = now() - ctimeMs > COARSE_MS ? { version, text } : undefined
      return text
    },
  }
}
