import { CLOCK_CYCLE, ticksBetween } from '../../../mpegts/packet-reader.ts'
import { PACKET_BYTES } from '../../../mpegts/ts-muxer.ts'
import { freeBox } from './boxes.ts'
import { type FragmentTrack, fragment, type TimedSample } from './fragment.ts'
import type { MovieHeader } from './movie-header.ts'
import { type Sample, SampleReader, TICKS_PER_SECOND } from './samples.ts'

interface PieceFacts {
  /** Of the piece in its range. */
  readonly number: number
  readonly bytes: number
  /** Ticks from the beginning of the movie, as the host measured them. */
  readonly aboutTicks: number
  /** The clock of its samples at the beginning of the movie. */
  readonly baseTicks: number
}

/** Fragments of a piece have numbers of their own, so that they can be made without those before. */
const NUMBERS = 1000
/** A fragment that is larger ends before the next key picture, so that few bytes are in memory. */
const MAX_FRAGMENT_BYTES = 8 * 1024 * 1024
const FALLBACK_TICKS = TICKS_PER_SECOND / 25

/**
 * A piece of MPEG-TS as fragments of a movie, filled up to the bytes that the MPEG-TS has: so the size of a movie, and where each piece
 * is in it, are known without reading the files. MPEG-TS has more around each sample than MP4.
 */
export async function* pieceMovie(
  transport: AsyncIterable<Buffer>,
  { soundRate }: MovieHeader,
  { number, bytes, aboutTicks, baseTicks }: PieceFacts,
): AsyncGenerator<Buffer> {
  const ready: Sample[] = []
  const reader = new SampleReader(soundRate, (sample) => ready.push(sample))
  const timeOf = (ticks: number): number => aboutTicks + ticksBetween((baseTicks + aboutTicks) % CLOCK_CYCLE, ticks)
  let sequence = number * NUMBERS
  let written = 0
  const gather = new Gatherer(timeOf, soundRate)
  const take = (next: number | undefined): Buffer => {
    sequence += 1
    const made = fragment(sequence, gather.take(next))
    written += made.length
    return made
  }
  const drain = function* (): Generator<Buffer> {
    for (const sample of ready.splice(0)) {
      const isDue = sample.isPicture && gather.hasPictures && (sample.key || gather.bytes > MAX_FRAGMENT_BYTES)
      if (isDue) yield take(timeOf(sample.dts))
      gather.push(sample)
    }
  }
  for await (const packets of whole(transport)) {
    reader.push(packets)
    yield* drain()
  }
  reader.end()
  yield* drain()
  if (!gather.isEmpty) yield take(undefined)
  if (bytes - written < 8 && bytes !== written) throw new Error('a piece of the recording is larger as MP4 than as MPEG-TS')
  if (bytes > written) yield freeBox(bytes - written)
}

/** Whole packets of what comes in parts. */
async function* whole(transport: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const part of transport) {
    const bytes = rest.length === 0 ? part : Buffer.concat([rest, part])
    const end = bytes.length - (bytes.length % PACKET_BYTES)
    rest = bytes.subarray(end)
    if (end > 0) yield bytes.subarray(0, end)
  }
}

/** The samples of the next fragment. */
class Gatherer {
  readonly #timeOf: (ticks: number) => number
  readonly #rate: number | undefined
  #pictures: TimedSample[] = []
  #sound: TimedSample[] = []
  bytes = 0

  constructor(timeOf: (ticks: number) => number, rate: number | undefined) {
    this.#timeOf = timeOf
    this.#rate = rate
  }

  get hasPictures(): boolean {
    return this.#pictures.length > 0
  }

  get isEmpty(): boolean {
    return !this.hasPictures && this.#sound.length === 0
  }

  push({ isPicture, key, pts, dts, later, bytes }: Sample): void {
    const time = this.#timeOf(dts)
    this.bytes += bytes.length
    if (isPicture) this.#pictures.push({ key, time, offset: ticksBetween(dts, pts), bytes })
    // Sound of before the first picture.
    else if (time >= 0 && this.#rate !== undefined)
      this.#sound.push({ key, time: Math.round(((time + later) * this.#rate) / TICKS_PER_SECOND), offset: 0, bytes })
  }

  /** `next`: the time of the picture that follows, if one does. */
  take(next: number | undefined): readonly FragmentTrack[] {
    const [pictures, sound] = [this.#pictures, this.#sound]
    this.#pictures = []
    this.#sound = []
    this.bytes = 0
    const last = pictures.at(-1)?.time ?? 0
    const before = pictures.at(-2)?.time
    const lastDuration = next !== undefined ? Math.max(0, next - last) : before !== undefined ? Math.max(0, last - before) : FALLBACK_TICKS
    const [first, second] = sound
    const soundDuration = first !== undefined && second !== undefined ? Math.max(0, second.time - first.time) : 1024
    return [
      { id: 1, samples: pictures, lastDuration },
      { id: 2, samples: sound, lastDuration: soundDuration },
    ]
  }
}
