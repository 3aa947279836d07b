import { messageOf } from '../errors.ts'

const NOT_THERE = 'there is no such file'
const A_FOLDER = 'it is a folder'

const READING: Readonly<Record<string, string>> = {
  ENOENT: NOT_THERE,
  ENOTDIR: NOT_THERE,
  EISDIR: A_FOLDER,
  EACCES: 'this user may not read it',
}

const WRITING: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  EISDIR: A_FOLDER,
  EACCES: 'this user may not write it',
  EROFS: 'its file system is read-only',
  ENOSPC: 'its disk is full',
}

const inWords =
  (words: Readonly<Record<string, string>>) =>
  (error: unknown): string =>
    words[String((error as { readonly code?: unknown }).code)] ?? messageOf(error)

/** Why a file cannot be read, in the words of people. */
export const whyUnreadable = inWords(READING)

/** Why a file cannot be written. */
export const whyUnwritable = inWords(WRITING)
