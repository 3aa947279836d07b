import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { PlayedSegment, Segment } from '../../../lib/segments/segment.ts'
import { CLOCK_CYCLE, PacketReader, type PictureStart, ticksBetween } from '../../mpegts/packet-reader.ts'
import { PACKET_BYTES } from '../../mpegts/ts-muxer.ts'

/** A part of a file in a range. */
export interface Piece {
  readonly path: string
  /** Offsets in the file, whole packets. */
  readonly begin: number
  readonly end: number
  /** Added to every time, ticks of 90 kHz: the clocks of two runs have nothing in common. */
  readonly shift: number
  /** When its first picture arrived, and the end of its last one, milliseconds since the epoch. */
  readonly startedAt: number
  readonly endedAt: number
  /** The decoding time of its first picture in the file. */
  readonly firstDts: number
  /** Packets of each PID in the piece, modulo 16; undefined where they were not counted yet. */
  readonly counts: Segment['counts'] | undefined
}

const TICKS_PER_MS = 90
const BLOCK_BYTES = 4096 * PACKET_BYTES

/**
 * The pieces of a range: from the last key frame at or before `from` to the frame at `to`, milliseconds since the epoch. Rejects with
 * the file system's error.
 */
export const planRange = async (
  rows: readonly PlayedSegment[],
  fileOf: (row: PlayedSegment) => string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly Piece[]> => {
  const pieces: Piece[] = []
  let clock: { readonly row: PlayedSegment; readonly shift: number } | undefined
  for (const row of rows) {
    const path = fileOf(row)
    const shift: number = clock === undefined ? 0 : shiftOf(clock.row, clock.shift, row)
    const isFirst = from > row.started_at
    const isLast = to < row.ended_at
    const whole = {
      begin: 0,
      end: row.bytes - (row.bytes % PACKET_BYTES),
      startedAt: row.started_at,
      endedAt: row.ended_at,
      firstDts: row.first_dts,
      counts: row.counts,
    }
    const part =
      isFirst || isLast
        ? await cutSegment(path, row, isFirst ? from : Number.NEGATIVE_INFINITY, isLast ? to : Number.POSITIVE_INFINITY)
        : whole
    pieces.push({ path, shift, ...part })
    clock = { row, shift }
  }
  return pieces
}

/** Times go on from one run to the next as the clock of the host did; where that was set back, without a gap. */
const shiftOf = (before: PlayedSegment, shift: number, row: PlayedSegment): number => {
  const isBack = row.started_at < before.started_at
  if (row.run === before.run && !isBack && ticksBetween(before.first_dts, row.first_dts) > 0) return shift
  const startedAt = isBack ? before.ended_at : row.started_at
  const expected = before.first_dts + shift + (startedAt - before.started_at) * TICKS_PER_MS
  return (((expected - row.first_dts) % CLOCK_CYCLE) + CLOCK_CYCLE) % CLOCK_CYCLE
}

/** From the last key picture at or before `from` to the first picture after `to`. */
const cutSegment = async (path: string, row: PlayedSegment, from: number, to: number): Promise<Omit<Piece, 'path' | 'shift'>> => {
  const end = row.bytes - (row.bytes % PACKET_BYTES)
  const cut = { begin: 0, end, startedAt: row.started_at, endedAt: row.ended_at, firstDts: row.first_dts, isDone: false }
  const reader = new PacketReader()
  const onPicture = ({ at, key, dts }: PictureStart): void => {
    const time = row.started_at + ticksBetween(row.first_dts, dts) / TICKS_PER_MS
    if (cut.isDone) return
    if (time > to) Object.assign(cut, { end: at, endedAt: time, isDone: true })
    else if (key && time <= from) Object.assign(cut, { begin: at, startedAt: time, firstDts: dts })
    // Nothing is to be cut off at its end.
    else if (time > from && to === Number.POSITIVE_INFINITY) cut.isDone = true
  }
  await readPackets(path, 0, row.bytes, (packets, base) => reader.read(packets, onPicture, base) && !cut.isDone)
  const { isDone: _, ...piece } = cut
  return { ...piece, counts: undefined }
}

/** Packets of each PID in a part of a file. */
export const countPackets = async (path: string, from: number, to: number): Promise<ReadonlyMap<number, number>> => {
  const reader = new PacketReader()
  await readPackets(path, from, to, (packets) => reader.read(packets, () => {}))
  return reader.counts
}

/** Reads packets of a file block by block, until the end or until `onPackets` answers false. */
export const readPackets = async (
  path: string,
  from: number,
  to: number,
  onPackets: (packets: Buffer, at: number) => boolean,
): Promise<void> => {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const block = Buffer.allocUnsafe(Math.min(BLOCK_BYTES, Math.max(PACKET_BYTES, to - from)))
    for (let at = from; at < to; ) {
      const { bytesRead } = await handle.read(block, 0, Math.min(block.length, to - at), at)
      const whole = bytesRead - (bytesRead % PACKET_BYTES)
      if (whole === 0 || !onPackets(block.subarray(0, whole), at)) return
      at += whole
    }
  } finally {
    await handle.close()
  }
}
