import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { ByteRange } from '../../../lib/byte-range.ts'
import { ApiError } from '../../../lib/errors.ts'
import type { PlayedSegment } from '../../../lib/segments/segment.ts'
import { segmentTime } from '../../../lib/segments/segment-name.ts'
import type { KlvArrival } from '../../../lib/st0601/json.ts'
import type { KlvPacket } from '../../../lib/st0601/packet.ts'
import { isMissing } from '../chain-log.ts'
import type { Recordings } from '../recordings.ts'
import { playlistOf } from './playlist.ts'
import { type Piece, planRange } from './range-plan.ts'
import { lengthOf, readRange } from './range-stream.ts'
import { recordedKlv } from './recorded-klv.ts'
import { recordedPicture } from './recorded-picture.ts'

interface Range {
  readonly from: number
  readonly to: number
}

/** Bytes that can be read from anywhere. */
interface RecordedFile {
  readonly bytes: number
  readonly read: (range: ByteRange) => Readable
}

/** Reads what was recorded. Every method throws NOT_FOUND no_recording where there is nothing. */
export class Playback {
  readonly #store: Recordings

  constructor(store: Recordings) {
    this.#store = store
  }

  /** A range as one MPEG-TS. */
  async range(id: string, range: Range): Promise<RecordedFile> {
    const pieces = await this.#pieces(await this.#segments(id, range), range)
    return { bytes: lengthOf(pieces), read: (bytes) => readRange(pieces, bytes) }
  }

  /** A range as one MP4. CONFLICT where codec or size of the video change. */
  async movie(id: string, range: Range): Promise<RecordedFile> {
    const rows = await this.#segments(id, range)
    requireOneFormat(rows)
    const [{ movieLength, readMovie }, pieces] = await Promise.all([import('./range-movie.ts'), this.#pieces(rows, range)])
    return { bytes: movieLength(pieces), read: (bytes) => readMovie(pieces, bytes) }
  }

  /** The segments of a range as an HLS playlist. */
  async playlist(id: string, range: Range): Promise<string> {
    return playlistOf(await this.#segments(id, range), 'recording')
  }

  /** A segment as it is on the disk. */
  async file(id: string, name: string): Promise<RecordedFile> {
    const at = segmentTime(name)
    if (at === undefined) throw noRecording()
    await this.#store.open()
    const handle = await open(this.#store.fileOf(id, at), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(orGone)
    try {
      const { size } = await handle.stat()
      return { bytes: size, read: ({ first, last }) => handle.createReadStream({ start: first, end: last }) }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** The picture of a moment, and when its frame arrived. */
  async picture(id: string, at: number, quality: number) {
    const [row] = await this.#segments(id, { from: at, to: at })
    if (row === undefined) throw noRecording()
    return recordedPicture(row, this.#fileOf(row), at, quality).catch(orGone)
  }

  /** The KLV packet of a moment; NOT_FOUND no_klv where the recording has none. Its age is that at the moment. */
  async klv(id: string, at: number): Promise<{ readonly packet: KlvPacket; readonly arrival: KlvArrival }> {
    const [row] = await this.#segments(id, { from: at, to: at })
    if (row === undefined) throw noRecording()
    const found = row.tracks.includes('klv') ? await recordedKlv(row, this.#fileOf(row), at).catch(orGone) : undefined
    if (found === undefined)
      throw new ApiError('NOT_FOUND', 'The recording of this time has no KLV. Ask for another moment.', { reason: 'no_klv' })
    return { packet: found.packet, arrival: { pipelineId: id, receivedAt: found.receivedAt, now: at } }
  }

  async #segments(id: string, { from, to }: Range): Promise<readonly PlayedSegment[]> {
    const rows = await this.#store.segments(id, from, to)
    if (rows.length === 0) throw noRecording()
    // Where the clock of the host was set back, two spans have the same times: one comes after the other.
    return rows.toSorted((one, other) => one.span - other.span || one.started_at - other.started_at)
  }

  async #pieces(rows: readonly PlayedSegment[], range: Range): Promise<readonly Piece[]> {
    const pieces = await planRange(rows, (row) => this.#fileOf(row), range).catch(orGone)
    if (lengthOf(pieces) === 0) throw noRecording()
    return pieces
  }

  #fileOf({ pipeline_id, started_at }: PlayedSegment): string {
    return this.#store.fileOf(pipeline_id, started_at)
  }
}

const noRecording = (): ApiError =>
  new ApiError('NOT_FOUND', 'Nothing of this time is recorded. List the recordings.', { reason: 'no_recording' })

/** What is not known counts as what is before it. */
const requireOneFormat = (rows: readonly PlayedSegment[]): void => {
  const known = rows.filter(({ format }) => format !== '')
  const other = known.find(({ format }) => format !== known[0]?.format)
  if (other === undefined) return
  const at = new Date(other.started_at).toISOString()
  throw new ApiError('CONFLICT', `Codec or size of the video change at ${at}. Ask for the parts before and after it.`, {
    reason: 'codec_change',
    at,
  })
}

/** A file was removed by hand: the index does not know it yet. */
const orGone = (error: unknown): never => {
  throw isMissing(error) ? noRecording() : error
}
