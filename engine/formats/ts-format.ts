import type { Writable } from 'node:stream'
import type { FrameRate } from '../codec/frame-rate.ts'
import { joinAnnexB, type Nal, nalBytes } from '../codec/nal.ts'
import { compress, planCatchUp } from '../mount/catch-up.ts'
import { frameRateHint } from '../mount/frame-rate-hint.ts'
import { DecodeClock } from '../mpegts/decode-clock.ts'
import { type Chunk, type Counters, PES_HEADER_BYTES, type PictureTime, type Program, TsMuxer } from '../mpegts/ts-muxer.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { CodedPicture } from './elementary-stream.ts'
import type { Format, FormatSource } from './format.ts'
import { type TsChunks, TsSink } from './ts-sink.ts'

/** The tables are sent at this interval, milliseconds, and with each key picture. */
const TABLES_MS = 100
/** Times begin here, so that the clock, which is behind them, is not negative; ticks of 90 kHz. */
const FIRST_TICK = 90_000

interface TsStreams {
  readonly video: RtpStream
  /** Undefined when KLV is not passed on. */
  readonly klv: RtpStream | undefined
  /** Whether the source has KLV. */
  readonly hasKlv: () => boolean
  /** Is put into the sequence parameter sets; undefined: they stay as they are. */
  readonly frameRate: FrameRate | undefined
}

type Times = Pick<PictureTime, 'pts' | 'dts'>

/** How one muxer writes the units of a pipeline. */
interface Muxing {
  readonly muxer: TsMuxer
  /** When the tables were last written, milliseconds of media time. */
  tablesMs: number
}

const newMuxing = (): Muxing => ({ muxer: new TsMuxer(), tablesMs: Number.NEGATIVE_INFINITY })

/** MPEG-TS of one pipeline: each unit is multiplexed once for all receivers. */
export class TsFormat implements Format, TsChunks {
  readonly #source: FormatSource
  readonly #streams: TsStreams
  readonly #muxing = newMuxing()
  readonly #chunks = new WeakMap<AccessUnit, Chunk | 'none'>()
  readonly #clock = new DecodeClock()
  /** Times of pictures in a stream with B-frames: those of a cached GOP must fit those of the pictures after it. */
  readonly #times = new WeakMap<AccessUnit, Times>()
  /** The time of the key picture at which decoding begins. Later pictures that are shown before it need earlier ones. */
  #entryMs = Number.NEGATIVE_INFINITY
  readonly #unsubscribe: readonly (() => void)[]
  #program: Program | undefined
  /** The last loss after which a key picture was written. */
  #losses: number

  constructor(source: FormatSource, streams: TsStreams) {
    this.#source = source
    this.#streams = streams
    this.#losses = source.live ? source.losses : -1
    const { video, klv } = streams
    // The next pictures may be decoded before the last of these.
    const cached = video.gop?.units ?? []
    this.#entryMs = cached[0]?.mediaMs ?? Number.NEGATIVE_INFINITY
    for (const unit of cached) {
      const picture = source.elementary.picture(unit)
      if (picture !== undefined && !this.#leads(unit)) this.#timesOf(unit, picture, 0)
    }
    // Every unit, also one that no receiver takes: the counters must be the same for all.
    this.#unsubscribe = [
      video.onUnit((unit) => void this.chunk(0, unit)),
      ...(klv === undefined ? [] : [klv.onUnit((unit) => void this.chunk(1, unit))]),
    ]
  }

  createSink(out: Writable): TsSink {
    return new TsSink(out, this)
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  chunk(track: number, unit: AccessUnit): Chunk | undefined {
    const known = this.#chunks.get(unit)
    if (known !== undefined) return known === 'none' ? undefined : known
    const chunk = this.#write(this.#muxing, track, unit, 0)
    this.#chunks.set(unit, chunk ?? 'none')
    return chunk
  }

  gop(): Map<AccessUnit, Chunk> {
    const { video, klv } = this.#streams
    const tracks = [video.gop?.units ?? [], klv?.gop?.units ?? []]
    if (tracks[0]?.length === 0) return new Map()
    const plan = planCatchUp(tracks, performance.now(), frameRateHint(video).mustBeGuessed)
    const muxing = newMuxing()
    const chunks = new Map<AccessUnit, Chunk>()
    for (const [track, units] of tracks.entries()) {
      for (const unit of units) {
        // Times of B-frames lie between others: compressed, they would not fit those of the next pictures.
        const reorders = (this.#source.elementary.picture(unit)?.reorderFrames ?? 0) > 0
        const chunk = this.#write(muxing, track, unit, reorders ? 0 : compress(plan, unit.mediaMs) - unit.mediaMs)
        if (chunk !== undefined) chunks.set(unit, chunk)
      }
    }
    return chunks
  }

  get counters(): Counters {
    return this.#muxing.muxer.counters
  }

  tables(): Chunk | undefined {
    const { muxer } = this.#muxing
    const before = muxer.counters
    const program = this.#program
    return program === undefined ? undefined : { bytes: muxer.tables(program), before, after: muxer.counters }
  }

  #write(muxing: Muxing, track: number, unit: AccessUnit, shiftMs: number): Chunk | undefined {
    const before = muxing.muxer.counters
    const bytes = track === 0 ? this.#writeVideo(muxing, unit, shiftMs) : this.#writeKlv(muxing, unit, shiftMs)
    return bytes === undefined ? undefined : { bytes, before, after: muxing.muxer.counters }
  }

  #writeVideo(muxing: Muxing, unit: AccessUnit, shiftMs: number): Buffer | undefined {
    const picture = this.#source.elementary.picture(unit)
    if (picture === undefined || this.#waitsForKey(unit) || this.#leads(unit)) return undefined
    const times = this.#timesOf(unit, picture, shiftMs)
    const mediaMs = unit.mediaMs + shiftMs
    const nals = this.#withFrameRate(delimited(picture), picture)
    const packets = muxing.muxer.video(joinAnnexB(nals, PES_HEADER_BYTES), { ...times, key: picture.key })
    if (!picture.key && mediaMs - muxing.tablesMs < TABLES_MS) return packets
    muxing.tablesMs = mediaMs
    return Buffer.concat([muxing.muxer.tables(this.#programOf(picture)), packets])
  }

  #withFrameRate(nals: readonly Nal[], { codec, key }: CodedPicture): readonly Nal[] {
    const { frameRate } = this.#streams
    if (frameRate === undefined || !key) return nals
    return nals.map((nal) => {
      const sps = codec.parameterSets.get(nal.type) === 'sps' ? codec.withFrameRate(nalBytes(nal), frameRate) : undefined
      return sps === undefined ? nal : { type: nal.type, pieces: [sps] }
    })
  }

  #writeKlv({ muxer }: Muxing, unit: AccessUnit, shiftMs: number): Buffer | undefined {
    // Receivers learn of the KLV with the next tables.
    return this.#program?.klv === true ? muxer.klv(unit.payload(), ticksOf(unit.mediaMs + shiftMs)) : undefined
  }

  #timesOf(unit: AccessUnit, { reorderFrames }: CodedPicture, shiftMs: number): Times {
    const pts = ticksOf(unit.mediaMs + shiftMs)
    if (shiftMs !== 0) return { pts, dts: pts }
    const known = this.#times.get(unit)
    if (known !== undefined) return known
    const dts = this.#clock.next(pts, reorderFrames)
    const times = { pts: Math.max(pts, dts), dts }
    this.#times.set(unit, times)
    return times
  }

  #leads({ mediaMs }: AccessUnit): boolean {
    return mediaMs < this.#entryMs
  }

  #waitsForKey(unit: AccessUnit): boolean {
    const { losses, firstUnitAfterLoss } = this.#source
    if (this.#losses === losses || unit.index < firstUnitAfterLoss) return false
    if (!unit.key) return true
    this.#losses = losses
    this.#clock.reset()
    this.#entryMs = unit.mediaMs
    return false
  }

  #programOf({ codec }: CodedPicture): Program {
    const klv = this.#streams.klv?.caps !== undefined && this.#streams.hasKlv()
    const before = this.#program
    if (before?.videoType === codec.streamType && before.klv === klv) return before
    this.#program = { videoType: codec.streamType, klv, version: (before?.version ?? -1) + 1 }
    return this.#program
  }
}

const ticksOf = (mediaMs: number): number => FIRST_TICK + Math.round(mediaMs * 90)

/** Each access unit begins with a delimiter (ISO/IEC 13818-1 sections 2.14.1 and 2.17.1). */
const delimited = ({ codec, nals }: CodedPicture): readonly Nal[] =>
  nals[0]?.type === codec.accessUnitDelimiter ? nals : [{ type: codec.accessUnitDelimiter, pieces: [codec.delimiter] }, ...nals]
