import { Readable } from 'node:stream'
import { type ByteRange, parseRange } from '../../lib/byte-range.ts'
import type { FileBytes } from './dispatch.ts'

/** Bytes that can be read from anywhere. */
interface FileSource {
  readonly bytes: number
  readonly read: (range: ByteRange) => Readable
}

/** The bytes, or those of the range that a request asks for (RFC 9110 section 14.4). */
export const filePart = ({ bytes, read }: FileSource, header: string | undefined): FileBytes => {
  const range = bytes === 0 ? undefined : parseRange(header, bytes)
  if (range === undefined) {
    const body = bytes === 0 ? Readable.from([]) : read({ first: 0, last: bytes - 1 })
    return { status: 200, headers: { 'content-length': bytes, 'accept-ranges': 'bytes' }, body }
  }
  const { first, last } = range
  const headers = { 'content-length': last - first + 1, 'content-range': `bytes ${first}-${last}/${bytes}`, 'accept-ranges': 'bytes' }
  return { status: 206, headers, body: read(range) }
}
