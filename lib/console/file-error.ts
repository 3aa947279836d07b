import { messageOf } from '../errors.ts'

const NOT_FOUND = 'there is no such file'
const A_FOLDER = 'it is a folder'

const READING: Readonly<Record<string, string>> = {
  ENOENT: NOT_FOUND,
  ENOTDIR: NOT_FOUND,
  EISDIR: A_FOLDER,
  EACCES: 'permission denied',
}

const WRITING: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  EISDIR: A_FOLDER,
  EACCES: 'permission denied',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
}

const inWords =
  (words: Readonly<Record<string, string>>) =>
  (error: unknown): string =>
    words[String((error as { readonly code?: unknown }).code)] ?? messageOf(error)

/** Why a file cannot be read, for people. */
export const whyUnreadable = inWords(READING)

/** Why a file cannot be written, for people. */
export const whyUnwritable = inWords(WRITING)
