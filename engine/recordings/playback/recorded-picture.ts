import type { PlayedSegment } from '../../../lib/segments/segment.ts'
import { PacketReader } from '../../mpegts/packet-reader.ts'
import { decodeTransport } from '../../screenshots/decode/decode-transport.ts'
import { planRange } from './range-plan.ts'
import { lengthOf, readRange } from './range-stream.ts'

/** A GOP that is larger is not decoded, bytes. */
const MAX_BYTES = 256 * 1024 * 1024

/** The picture that a segment shows at a time, milliseconds since the epoch. */
export const recordedPicture = async (row: PlayedSegment, path: string, at: number, quality: number) => {
  const pieces = await planRange([row], () => path, { from: at, to: at })
  if (lengthOf(pieces) > MAX_BYTES) throw new Error('the GOP is too large to decode')
  const chunks: Buffer[] = []
  for await (const chunk of readRange(pieces, { first: 0, last: lengthOf(pieces) - 1 })) chunks.push(chunk as Buffer)
  const transport = Buffer.concat(chunks)
  let pictures = 0
  new PacketReader().read(transport, () => {
    pictures += 1
  })
  const codec = row.tracks.includes('h265') ? 'h265' : 'h264'
  return decodeTransport(transport, { codec, quality, single: pictures === 1 })
}
