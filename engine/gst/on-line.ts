import type { Readable } from 'node:stream'

const MAX_LINE_BYTES = 64 * 1024

/** Calls back for each line of a text stream; a line longer than 64 KiB is cut there. */
export const onLine = (input: Readable, listener: (line: string) => void): void => {
  let rest = ''
  input.setEncoding('utf8')
  input.on('data', (text: string) => {
    const lines = (rest + text).split(/\r?\n|\r/)
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_BYTES) {
      lines.push(rest.slice(0, MAX_LINE_BYTES))
      rest = ''
    }
    for (const line of lines) if (line !== '') listener(line)
  })
  input.on('end', () => {
    if (rest !== '') listener(rest)
  })
  // The end of the child is reported elsewhere; the error of its broken pipe adds nothing.
  input.on('error', () => {})
}
