import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { whyUnwritable } from '../../../lib/console/file-error.ts'
import { printableJson } from '../../../lib/log/printable.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run } from '../command-line/session.ts'

/** A range of a recording, into a file or to standard output. */
export const exportRecording: Run = async ({ client, given, signal, out, isJson }) => {
  const [id = ''] = given.operands
  const [from, to, file] = [given.text('from'), given.text('to'), given.text('output')]
  if (from === undefined || to === undefined || file === undefined) throw new UsageError('Use --from TIME, --to TIME and -o FILE.')
  if (file === '-' && out.isInteractive) throw new UsageError('A terminal cannot show video. Use -o FILE.')
  const range = { id, from, to, signal }
  const answer = await (file.endsWith('.mp4') ? client.getRecordingAsMp4(range) : client.getRecording(range))
  const body = Readable.fromWeb(answer.body as Parameters<typeof Readable.fromWeb>[0])
  if (file === '-') {
    await pipeline(body, process.stdout, { end: false })
    return EXIT.done
  }
  const written = createWriteStream(file)
  try {
    await pipeline(body, written)
  } catch (error) {
    // A part of a range is none.
    await rm(file, { force: true }).catch(() => {})
    if (written.errored !== null) throw new Error(`${file} cannot be written: ${whyUnwritable(error)}.`, { cause: error })
    throw error
  }
  if (isJson) out.print(printableJson({ file, size_bytes: written.bytesWritten }))
  else if (out.isInteractive) out.print(`${out.paint.green('✓')} ${file} ${out.paint.dim(`${(written.bytesWritten / 1e6).toFixed(1)} MB`)}`)
  return EXIT.done
}
