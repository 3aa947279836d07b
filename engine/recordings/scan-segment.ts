import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Segment } from '../../lib/segments/segment.ts'
import { KlvDemuxer } from '../mpegts/klv-demuxer.ts'
import { PacketReader, ticksBetween } from '../mpegts/packet-reader.ts'
import { PACKET_BYTES } from '../mpegts/ts-muxer.ts'
import { GroundSeen } from './ground-seen.ts'
import type { OpenSegment } from './pipeline-folder.ts'
import type { WrittenFile } from './segment-file.ts'

const BLOCK_BYTES = 4096 * PACKET_BYTES
const TICKS_PER_MS = 90

interface ScannedSegment {
  readonly segment: Segment
  readonly file: WrittenFile
}

/**
 * Reads a segment that was not completed. With `repair`, cuts off what a kill or a power failure has left of a picture. Undefined for a file without a
 * picture; rejects with the file system's error.
 */
export const scanSegment = async (
  path: string,
  pipelineId: string,
  { started_at, span, run, format = '' }: OpenSegment,
  { repair }: { readonly repair: boolean },
): Promise<ScannedSegment | undefined> => {
  const handle = await open(path, (repair ? constants.O_RDWR : constants.O_RDONLY) | constants.O_NOFOLLOW)
  try {
    const { size } = await handle.stat()
    const isTorn = size % PACKET_BYTES !== 0
    const whole = repair && isTorn ? await wholePictures(handle, size) : size - (size % PACKET_BYTES)
    if (repair && isTorn) await handle.truncate(whole)
    const scan = new SegmentScan(started_at)
    const hash = createHash('sha256')
    await readBlocks(handle, whole, (packets) => {
      hash.update(packets)
      scan.push(packets)
    })
    if (repair) await handle.datasync()
    const facts = scan.facts()
    if (facts === undefined) return undefined
    return {
      segment: { pipeline_id: pipelineId, started_at, span, run, format, bytes: whole, ...facts },
      file: { bytes: whole, sha256: hash.digest('hex') },
    }
  } finally {
    await handle.close()
  }
}

const readBlocks = async (handle: FileHandle, end: number, onPackets: (packets: Buffer, at: number) => void): Promise<void> => {
  const block = Buffer.alloc(Math.min(BLOCK_BYTES, end))
  for (let at = 0; at < end; ) {
    const { bytesRead } = await handle.read(block, 0, Math.min(block.length, end - at), at)
    if (bytesRead === 0) break
    onPackets(block.subarray(0, bytesRead - (bytesRead % PACKET_BYTES)), at)
    at += bytesRead
  }
}

/** A process that is killed leaves a part of its last write (Linux ends it at a page): the bytes before the last picture. */
const wholePictures = async (handle: FileHandle, size: number): Promise<number> => {
  const whole = size - (size % PACKET_BYTES)
  const reader = new PacketReader()
  let last = 0
  await readBlocks(handle, whole, (packets, base) => {
    reader.read(
      packets,
      ({ at }) => {
        last = at
      },
      base,
    )
  })
  return last > 0 ? last : whole
}

class SegmentScan {
  readonly #startedAt: number
  readonly #reader = new PacketReader()
  readonly #klv = new KlvDemuxer()
  readonly #seen = new GroundSeen()
  #first: number | undefined
  #last = 0
  #frameTicks = 0

  constructor(startedAt: number) {
    this.#startedAt = startedAt
  }

  push(packets: Buffer): void {
    this.#reader.read(packets, ({ dts }) => {
      this.#first ??= dts
      this.#frameTicks = Math.max(0, ticksBetween(this.#last, dts))
      this.#last = dts
    })
    for (const { pts, bytes } of this.#klv.push(packets)) this.#seen.push(bytes, this.#timeOf(pts ?? this.#last))
  }

  facts(): Pick<Segment, 'ended_at' | 'tracks' | 'first_dts' | 'counts' | 'seen'> | undefined {
    if (this.#first === undefined) return undefined
    return {
      ended_at: Math.max(this.#startedAt + 1, Math.round(this.#timeOf(this.#last + this.#frameTicks))),
      tracks: this.#reader.tracks.map(({ name }) => name),
      first_dts: this.#first,
      counts: Object.fromEntries([...this.#reader.counts].map(([pid, count]) => [String(pid), count % 16])),
      seen: this.#seen.take(),
    }
  }

  #timeOf(ticks: number): number {
    return this.#startedAt + ticksBetween(this.#first ?? ticks, ticks) / TICKS_PER_MS
  }
}
