import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { messageOf } from '../../lib/errors.ts'

const API_KEY_BYTES = 32
/** In the data directory. */
export const API_KEY_FILE = 'api-key'

/** Creates the data directory, accessible to its owner only; returns its absolute path, or throws what to do. */
export const openDataDirectory = (path: string): string => {
  const directory = resolve(path)
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    closeToOthers(directory)
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    const advice = 'Let the user of the service write it, or set SVC_DATA_DIR to another one.'
    throw new Error(`the data directory ${directory} cannot be used (${messageOf(cause)}). ${advice}`, { cause })
  }
  return directory
}

/** A volume of a container may belong to root and be writable for the group of this process; that is for the volume to decide. */
const closeToOthers = (directory: string): void => {
  try {
    chmodSync(directory, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

/** The API key of the data directory, generated at the first start; only `file` may be logged. */
export const readOrCreateApiKey = (directory: string): { readonly key: string; readonly file: string; readonly created: boolean } => {
  const file = join(directory, API_KEY_FILE)
  const existing = readKey(file)
  if (existing !== undefined) return { key: existing, file, created: false }
  const key = randomBytes(API_KEY_BYTES).toString('base64url')
  writeFileSync(file, `${key}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  return { key, file, created: true }
}

const readKey = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim() || undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
