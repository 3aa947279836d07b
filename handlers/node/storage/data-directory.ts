import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { API_KEY } from '../../../lib/configuration/parsers.ts'
import { messageOf } from '../../../lib/errors.ts'

const API_KEY_BYTES = 32
/** In the data directory. */
export const API_KEY_FILE = 'api-key'

/** A file whose content a power failure has lost is empty, or as long as before and full of zeros. */
const LOST = /^[\0\s]*$/

/** Creates the data directory, accessible to its owner only; returns its absolute path. Throws with a message for the operator. */
export const openDataDirectory = (path: string): string => {
  const directory = resolve(path)
  return inDirectory(directory, () => {
    makeFolder(directory)
    closeToOthers(directory)
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return directory
  })
}

/** With its parents. The option `recursive` of Node.js 24 never returns where no folder can be made, as in /proc. */
const makeFolder = (folder: string): void => {
  if (lstatSync(dirname(folder), { throwIfNoEntry: false }) === undefined) makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // A dangling link throws here.
    if (codeOf(error) !== 'EEXIST' || !statSync(folder).isDirectory()) throw error
  }
}

/** Fails for a volume of a container that belongs to root and is writable for the group of this process, which is allowed. */
const closeToOthers = (directory: string): void => {
  try {
    chmodSync(directory, 0o700)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error
  }
}

/** The API key of the data directory, generated at the first start; only `file` may be logged. Throws with a message for the operator. */
export const readOrCreateApiKey = (directory: string): { readonly key: string; readonly file: string; readonly created: boolean } =>
  inDirectory(directory, () => {
    const file = join(directory, API_KEY_FILE)
    const existing = readKey(file)
    if (existing !== undefined) return { key: existing, file, created: false }
    const key = randomBytes(API_KEY_BYTES).toString('base64url')
    writeWhole(file, `${key}\n`)
    return { key, file, created: true }
  })

const readKey = (file: string): string | undefined => {
  const text = readText(file)
  if (LOST.test(text)) return undefined
  const key = text.trim()
  if (API_KEY.test(key)) return key
  throw new Error(`${file} holds no API key of 16 to 512 printable ASCII characters; remove it, and the next start makes a new one`)
}

const readText = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return ''
    throw error
  }
}

/** Leaves the old file or the whole new one, also after a full disk or a power failure. */
export const writeWhole = (file: string, text: string): void => {
  const draft = `${file}.new`
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, text, { mode: 0o600, flush: true })
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

const NOT_WRITABLE = 'permission denied. Change its owner, or set SVC_DATA_DIR to another one'
const NOT_A_FOLDER = 'it is not a folder. Remove the file, or set SVC_DATA_DIR to another one'
const NO_SPACE = 'its disk is full. Free space there'

/** What is wrong with the data directory, and what to do. */
const FAULTS: Readonly<Record<string, string>> = {
  EROFS: 'its file system is read-only. Make it writable, or set SVC_DATA_DIR to another one',
  ENOENT: 'a folder or link on the way leads nowhere. Mount its disk, or set SVC_DATA_DIR to another one',
  ENOSPC: NO_SPACE,
  EDQUOT: NO_SPACE,
  EACCES: NOT_WRITABLE,
  EPERM: NOT_WRITABLE,
  EEXIST: NOT_A_FOLDER,
  ENOTDIR: NOT_A_FOLDER,
}

/** Runs `run`; an error of the file system gets a message for the operator. */
export const inDirectory = <T>(directory: string, run: () => T): T => {
  try {
    return run()
  } catch (error) {
    throw directoryError(directory, error)
  }
}

export const directoryError = (directory: string, error: unknown): unknown => {
  const code = codeOf(error)
  if (code === undefined) return error
  const reason = FAULTS[code] ?? `${messageOf(error)}. Correct that, or set SVC_DATA_DIR to another one`
  return new Error(`the data directory ${directory} cannot be used: ${reason}`, { cause: error })
}

/** Of an error of the system. */
const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
