import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { ByteRange } from '../../../lib/byte-range.ts'
import { PACKET_BYTES } from '../../mpegts/ts-muxer.ts'
import { PacketRewriter } from './packet-rewriter.ts'
import { countPackets, type Piece } from './range-plan.ts'

const BLOCK_BYTES = 1024 * PACKET_BYTES

export const lengthOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { begin, end }) => sum + end - begin, 0)

/** The bytes of pieces as one MPEG-TS with counters that continue, read as fast as they are taken. */
export const readRange = (pieces: readonly Piece[], range: ByteRange): Readable =>
  Readable.from(bytesOf(pieces, range), { objectMode: false })

async function* bytesOf(pieces: readonly Piece[], { first, last }: ByteRange): AsyncGenerator<Buffer> {
  const counts = new Map<number, number>()
  let begin = 0
  for (const piece of pieces) {
    const length = piece.end - piece.begin
    if (begin > last) return
    if (begin + length <= first) addCounts(counts, await countsOf(piece))
    else {
      const skip = Math.max(0, first - begin)
      const from = piece.begin + skip - (skip % PACKET_BYTES)
      if (from > piece.begin) addCounts(counts, await countPackets(piece.path, piece.begin, from))
      const rewriter = new PacketRewriter(counts)
      yield* part(piece, rewriter, from, { drop: skip % PACKET_BYTES, bytes: Math.min(last + 1, begin + length) - begin - skip })
      for (const [pid, next] of rewriter.next) counts.set(pid, next)
    }
    begin += length
  }
}

/** A part of a file: `bytes` of it after those that are dropped. */
async function* part(
  piece: Piece,
  rewriter: PacketRewriter,
  from: number,
  { drop, bytes }: { drop: number; bytes: number },
): AsyncGenerator<Buffer> {
  const handle = await open(piece.path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    let [at, dropped, left] = [from, drop, bytes]
    while (left > 0) {
      const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, piece.end - at))
      const { bytesRead } = await handle.read(block, 0, block.length, at)
      const whole = bytesRead - (bytesRead % PACKET_BYTES)
      if (whole === 0) throw new Error('the file is shorter than the index says')
      const packets = block.subarray(0, whole)
      rewriter.rewrite(packets, piece.shift)
      at += whole
      const taken = packets.subarray(dropped, dropped + left)
      dropped = 0
      left -= taken.length
      yield taken
    }
  } finally {
    await handle.close()
  }
}

const countsOf = async ({ counts, path, begin, end }: Piece): Promise<Iterable<readonly [number, number]>> =>
  counts === undefined ? countPackets(path, begin, end) : Object.entries(counts).map(([pid, count]) => [Number(pid), count] as const)

const addCounts = (counts: Map<number, number>, more: Iterable<readonly [number, number]>): void => {
  for (const [pid, count] of more) counts.set(pid, ((counts.get(pid) ?? 0) + count) & 15)
}
