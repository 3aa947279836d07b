import type { PlayedSegment } from '../../../lib/segments/segment.ts'
import type { KlvPacket } from '../../../lib/st0601/packet.ts'
import { KlvStreamParser } from '../../../lib/st0601/stream-parser.ts'
import { KlvDemuxer } from '../../mpegts/klv-demuxer.ts'
import { PacketReader, ticksBetween } from '../../mpegts/packet-reader.ts'
import { readPackets } from './range-plan.ts'

/** A packet, and the time of its frame, milliseconds since the epoch. */
interface RecordedKlv {
  readonly packet: KlvPacket
  readonly receivedAt: number
}

interface TimedUnit {
  readonly at: number
  readonly bytes: Uint8Array
}

const TICKS_PER_MS = 90
/** A packet that is so much later is taken where none is earlier: that of the first frame may come after it. */
const LATER_MS = 1000
/** Damaged packets that are passed over. */
const MAX_TRIES = 8

/** The packet of the frame that a segment shows at a time, else the last one before it; undefined without one. Rejects with the file system's error. */
export const recordedKlv = async (row: PlayedSegment, path: string, at: number): Promise<RecordedKlv | undefined> => {
  const units = await unitsAround(row, path, at)
  const [before, after] = [units.filter((unit) => unit.at <= at), units.filter((unit) => unit.at > at)]
  for (const unit of [...before.toReversed().slice(0, MAX_TRIES), ...after.slice(0, MAX_TRIES)]) {
    const packet = new KlvStreamParser().push(unit.bytes).at(-1)
    if (packet !== undefined) return { packet, receivedAt: Math.round(unit.at) }
  }
  return undefined
}

/** The KLV of a segment from its begin to a little after a time. */
const unitsAround = async (row: PlayedSegment, path: string, at: number): Promise<readonly TimedUnit[]> => {
  const reader = new PacketReader()
  const demuxer = new KlvDemuxer()
  const units: TimedUnit[] = []
  let first: number | undefined
  let last = 0
  await readPackets(path, 0, row.bytes, (packets) => {
    const isWhole = reader.read(packets, ({ pts }) => {
      first ??= pts
      last = pts
    })
    const timeOf = (ticks: number): number => row.started_at + ticksBetween(first ?? ticks, ticks) / TICKS_PER_MS
    for (const { pts, bytes } of demuxer.push(packets)) units.push({ at: timeOf(pts ?? last), bytes })
    return isWhole && timeOf(last) <= at + LATER_MS
  })
  return units.filter((unit) => unit.at <= at + LATER_MS)
}
