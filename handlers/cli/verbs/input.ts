import { readFileSync } from 'node:fs'
import { whyUnreadable } from '../../../lib/console/file-error.ts'
import { type Declaration, readDeclaration } from '../../declared/declaration.ts'
import { UsageError } from '../command-line/arguments.ts'
import type { Session } from '../command-line/session.ts'

/** The declaration in the file of `-f`. Throws UsageError, or DeclarationError with every mistake. */
export const readInput = (session: Session): Declaration => {
  const { text, name } = readText(session)
  return readDeclaration(text, name)
}

/** The text of the file of `-f`, and its name for errors. Throws UsageError. */
export const readText = ({ given }: Pick<Session, 'given'>): { readonly text: string; readonly name: string } => {
  const file = given.text('file')
  if (file === undefined) throw new UsageError('Use -f FILE, or -f - for standard input.')
  const name = file === '-' ? 'standard input' : file
  return { text: readWhole(file, name), name }
}

/** All of a file, or of standard input for `-`. Throws an Error that names it. */
export const readWhole = (file: string, name = file): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new Error(`${name} cannot be read: ${whyUnreadable(error)}.`, { cause: error })
  }
}
