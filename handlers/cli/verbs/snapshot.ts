import { writeFileSync } from 'node:fs'
import { whyUnwritable } from '../../../lib/console/file-error.ts'
import { printableJson } from '../../../lib/log/printable.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'

/** The current picture of a pipeline, into a file or to standard output. */
export const snapshot: Run = async ({ client, given, signal, out, isJson }) => {
  const [id = ''] = given.operands
  const file = given.text('output') ?? '-'
  if (file === '-' && out.isInteractive)
    throw new UsageError('A terminal cannot show the picture. Use -o FILE, or -o - with a program that reads it.')
  const answer = await client.getSnapshot({ id, width: numberOf(given, 'width'), quality: numberOf(given, 'quality'), signal })
  const picture = new Uint8Array(await answer.arrayBuffer())
  if (file === '-') {
    process.stdout.write(picture)
    return EXIT.done
  }
  write(file, picture)
  const facts = { file, size_bytes: picture.length, created_at: answer.headers.get('x-created-at') }
  if (isJson) out.print(printableJson(facts))
  else if (out.isInteractive) out.print(`${out.paint.green('✓')} ${file} ${out.paint.dim(`${(picture.length / 1000).toFixed(1)} kB`)}`)
  return EXIT.done
}

const write = (file: string, picture: Uint8Array): void => {
  try {
    writeFileSync(file, picture)
  } catch (error) {
    throw new Error(`${file} cannot be written: ${whyUnwritable(error)}.`, { cause: error })
  }
}

const numberOf = (given: Session['given'], name: 'width' | 'quality'): number | undefined => {
  const text = given.text(name)
  if (text !== undefined && !/^\d{1,9}$/.test(text)) throw new UsageError(`Use --${name} with a whole number.`)
  return text === undefined ? undefined : Number(text)
}
