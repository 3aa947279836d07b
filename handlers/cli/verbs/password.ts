import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { printableJson } from '../../../lib/log/printable.ts'
import { UsageError } from '../command-line/arguments.ts'
import { EXIT } from '../command-line/exit.ts'
import type { Run, Session } from '../command-line/session.ts'

/** Sets the password of the API, or removes it; every session ends. */
export const password: Run = async (session) => {
  const { client, given, signal, out, isJson } = session
  const isRemoval = given.has('remove')
  if (isRemoval) await client.removePassword({ signal })
  else await client.setPassword({ body: { password: await readPassword(session) }, signal })
  if (isJson) out.print(printableJson({ auth_enabled: !isRemoval }))
  else if (out.isInteractive) out.print(isRemoval ? 'The password is removed.' : 'The password is set. Every session has ended.')
  return EXIT.done
}

/** Asked for twice on a terminal; else the first line of standard input. An argument would be visible to others. */
const readPassword = async ({ signal }: Session): Promise<string> => {
  if (!process.stdin.isTTY) return (await text(process.stdin)).split(/\r?\n/, 1)[0] ?? ''
  const silent = new Writable({ write: (_, __, done) => done() })
  // From here on the terminal shows nothing of what is typed, and Ctrl-C is a character.
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  const stopped = new AbortController()
  lines.once('SIGINT', () => stopped.abort())
  const ask = async (question: string): Promise<string> => {
    process.stderr.write(question)
    const answer = await lines.question('', { signal: AbortSignal.any([signal, stopped.signal]) })
    process.stderr.write('\n')
    return answer
  }
  try {
    const first = await ask('New password: ')
    if (first === (await ask('The same again: '))) return first
    throw new UsageError('The two passwords differ. Nothing was changed.')
  } finally {
    lines.close()
  }
}
