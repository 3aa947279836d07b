import { parseRange } from '../../../lib/byte-range.ts'
import type { FileAnswer } from '../../../lib/engine/call.ts'

/** A file, or the range of it that was asked for, with a header that no client may see. */
export const fakeFile = (bytes: Uint8Array, range: string | undefined): FileAnswer => {
  const asked = parseRange(range, bytes.length)
  const part = asked === undefined ? bytes : bytes.subarray(asked.first, asked.last + 1)
  const headers = new Headers({ 'content-length': String(part.length), 'accept-ranges': 'bytes', 'x-secret': 'no' })
  if (asked !== undefined) headers.set('content-range', `bytes ${asked.first}-${asked.last}/${bytes.length}`)
  return { status: asked === undefined ? 200 : 206, headers, body: new Blob([Uint8Array.from(part)]).stream() }
}
