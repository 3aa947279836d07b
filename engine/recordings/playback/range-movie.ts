import { Readable } from 'node:stream'
import type { ByteRange } from '../../../lib/byte-range.ts'
import { freeBox, fullBox, long, words } from './mp4/boxes.ts'
import { type MovieHeader, movieHeader } from './mp4/movie-header.ts'
import { pieceMovie } from './mp4/piece-movie.ts'
import { SampleReader, TICKS_PER_SECOND } from './mp4/samples.ts'
import type { Piece } from './range-plan.ts'
import { lengthOf, readRange } from './range-stream.ts'

/** Room for `ftyp` and `moov`, whose size depends on the codecs. */
const MOVIE_BYTES = 8192
/** Codecs are found in the beginning of the first piece, at most so far. */
const BEGINNING_BYTES = 4 * 1024 * 1024
/** That of the sound is not known before. */
const ANY_RATE = 1
const INDEX_HEAD_BYTES = 40
const INDEX_ENTRY_BYTES = 12
/** The index has 16 bits for their number. */
const MAX_ENTRIES = 65_535
const TICKS_PER_MS = TICKS_PER_SECOND / 1000

/** The bytes of the movie of a range, which are known before it is made. */
export const movieLength = (pieces: readonly Piece[]): number => MOVIE_BYTES + indexBytes(pieces) + lengthOf(pieces)

/** Bytes of the movie of a range. Only the pieces that are asked for are read, and a GOP of them is in memory. Rejects where there are no pictures. */
export const readMovie = (pieces: readonly Piece[], range: ByteRange): Readable =>
  Readable.from(bytesOf(pieces, range), { objectMode: false })

async function* bytesOf(pieces: readonly Piece[], { first, last }: ByteRange): AsyncGenerator<Buffer> {
  const header = await headerOf(pieces)
  let at = 0
  for await (const part of partsFrom(pieces, header, first)) {
    if (part.skipped !== undefined) {
      at += part.skipped
      continue
    }
    const taken = part.bytes.subarray(Math.max(0, first - at), last + 1 - at)
    at += part.bytes.length
    if (taken.length > 0) yield taken
    if (at > last) return
  }
}

type Part = { readonly bytes: Buffer; readonly skipped?: undefined } | { readonly skipped: number }

/** The parts of a movie in order; pieces that end before `first` are not read. */
async function* partsFrom(pieces: readonly Piece[], header: MovieHeader, first: number): AsyncGenerator<Part> {
  const beginning = Buffer.concat([header.bytes, freeBox(MOVIE_BYTES - header.bytes.length), index(pieces)])
  yield { bytes: beginning }
  let at = beginning.length
  for (const [number, piece] of pieces.entries()) {
    const bytes = piece.end - piece.begin
    at += bytes
    if (at <= first) {
      yield { skipped: bytes }
      continue
    }
    const facts = { number, bytes, aboutTicks: aboutTicks(pieces, piece), baseTicks: pieces[0]?.firstDts ?? 0 }
    for await (const made of pieceMovie(readRange([piece], { first: 0, last: bytes - 1 }), header, facts)) yield { bytes: made }
  }
}

const headerOf = async (pieces: readonly Piece[]): Promise<MovieHeader> => {
  const header = await movieHeader(await beginningOf(pieces[0]), durationOf(pieces) / 1000)
  if (header === undefined || header.bytes.length > MOVIE_BYTES - 8) throw new Error('the recording has no pictures that MP4 carries')
  return header
}

/** Up to where each track of a piece has shown what it is. */
const beginningOf = async (piece: Piece | undefined): Promise<Buffer> => {
  if (piece === undefined) return Buffer.alloc(0)
  const chunks: Buffer[] = []
  const found = { pictures: 0, sound: 0 }
  const reader = new SampleReader(ANY_RATE, ({ isPicture }) => {
    found[isPicture ? 'pictures' : 'sound'] += 1
  })
  const bytes = Math.min(BEGINNING_BYTES, piece.end - piece.begin)
  for await (const chunk of readRange([piece], { first: 0, last: bytes - 1 })) {
    chunks.push(chunk as Buffer)
    reader.push(chunk as Buffer)
    if (found.pictures > 0 && (found.sound > 0 || !reader.hasSound)) break
  }
  return Buffer.concat(chunks)
}

const durationOf = (pieces: readonly Piece[]): number => (pieces.at(-1)?.endedAt ?? 0) - (pieces[0]?.startedAt ?? 0)

const aboutTicks = (pieces: readonly Piece[], { startedAt }: Piece): number =>
  Math.max(0, startedAt - (pieces[0]?.startedAt ?? 0)) * TICKS_PER_MS

/** Pieces for each entry of the index. */
const groupsOf = (pieces: readonly Piece[]): readonly (readonly Piece[])[] => {
  const size = Math.ceil(pieces.length / MAX_ENTRIES)
  return Array.from({ length: Math.ceil(pieces.length / size) }, (_, number) => pieces.slice(number * size, (number + 1) * size))
}

const indexBytes = (pieces: readonly Piece[]): number => INDEX_HEAD_BYTES + INDEX_ENTRY_BYTES * groupsOf(pieces).length

/** Where each piece is, and how long it lasts, for players that seek (ISO/IEC 14496-12 section 8.16.3). */
const index = (pieces: readonly Piece[]): Buffer => {
  const groups = groupsOf(pieces)
  const entries = groups.flatMap((group, number) => {
    const end = groups[number + 1]?.[0]?.startedAt ?? group.at(-1)?.endedAt ?? 0
    const ticks = Math.max(1, Math.round((end - (group[0]?.startedAt ?? 0)) * TICKS_PER_MS))
    return [lengthOf(group), Math.min(ticks, 0xffff_ffff), 0x9000_0000]
  })
  const count = Buffer.alloc(4)
  count.writeUInt16BE(groups.length, 2)
  return fullBox('sidx', 1, 0, words(1, TICKS_PER_SECOND), long(0), long(0), count, words(...entries))
}
