import { readFileSync } from 'node:fs'
import { whyUnreadable } from '../../../lib/console/file-error.ts'
import { type Declaration, readDeclaration } from '../../declared/declaration.ts'
import { UsageError } from '../command-line/arguments.ts'
import type { Session } from '../command-line/session.ts'

/** The declaration in the file of `-f`. Throws UsageError, or DeclarationError with every mistake. */
export const readInput = ({ given }: Session): Declaration => {
  const file = given.text('file')
  if (file === undefined) throw new UsageError('Use -f FILE, or -f - for standard input.')
  const name = file === '-' ? 'standard input' : file
  return readDeclaration(read(file, name), name)
}

const read = (file: string, name: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new Error(`${name} cannot be read: ${whyUnreadable(error)}.`, { cause: error })
  }
}
