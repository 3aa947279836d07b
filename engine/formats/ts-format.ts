import type { Writable } from 'node:stream'
import type { Sound } from '../codec/audio/sound-codecs.ts'
import type { FrameRate } from '../codec/frame-rate.ts'
import { annexB, type Nal, nalBytes } from '../codec/nal.ts'
import { compress, planCatchUp } from '../mount/catch-up.ts'
import { frameRateHint } from '../mount/frame-rate-hint.ts'
import { DecodeClock } from '../mpegts/decode-clock.ts'
import type { KlvCarriage, Program } from '../mpegts/sections.ts'
import { type SoundCarriage, soundCarriage } from '../mpegts/sound-packets.ts'
import { type Chunk, type Counters, type PictureTime, TsMuxer } from '../mpegts/ts-muxer.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import type { CodedPicture } from './elementary-stream.ts'
import type { Format, FormatSource } from './format.ts'
import { TimedKlv } from './timed-klv.ts'
import { type TsChunks, TsSink } from './ts-sink.ts'

/** The tables are sent at this interval, milliseconds, and with each key picture. */
const TABLES_MS = 100
/** Times begin here, so that the clock, which is behind them, is not negative; ticks of 90 kHz. */
const FIRST_TICK = 90_000

interface TsStreams {
  readonly video: RtpStream
  /** Undefined when KLV is not passed on. */
  readonly klv: RtpStream | undefined
  /** Undefined when sound is not passed on. */
  readonly sound: RtpStream | undefined
  /** How the KLV of the source is carried; false: it has none. */
  readonly klvCarriage: () => KlvCarriage | false
  /** Is put into the sequence parameter sets; undefined: they stay as they are. */
  readonly frameRate: FrameRate | undefined
}

type Times = Pick<PictureTime, 'pts' | 'dts'>

/** How one muxer writes the units of a pipeline. */
interface Muxing {
  readonly muxer: TsMuxer
  /** When the tables were last written, milliseconds of media time. */
  tablesMs: number
  /** The times of KLV that is synchronous. */
  readonly klv: TimedKlv
}

const newMuxing = (): Muxing => ({ muxer: new TsMuxer(), klv: new TimedKlv(), tablesMs: Number.NEGATIVE_INFINITY })

/** MPEG-TS of one pipeline: each unit is multiplexed once for all receivers. */
export class TsFormat implements Format, TsChunks {
  readonly #source: FormatSource
  readonly #streams: TsStreams
  readonly #muxing = newMuxing()
  /** Of each track, the last unit and its packets: units that wait for a slow receiver are kept by its sink. */
  readonly #newest: ({ readonly unit: AccessUnit; readonly chunk: Chunk | undefined } | undefined)[] = []
  readonly #clock = new DecodeClock()
  /** Times of pictures in a stream with B-frames: those of a cached GOP must fit those of the pictures after it. */
  readonly #times = new WeakMap<AccessUnit['identity'], Times>()
  /** The time of the key picture at which decoding begins. Later pictures that are shown before it need earlier ones. */
  #entryMs = Number.NEGATIVE_INFINITY
  readonly #unsubscribe: readonly (() => void)[]
  #program: (Program & { readonly sound: SoundCarriage | undefined }) | undefined
  #carried: { readonly sound: Sound | undefined; readonly carriage: SoundCarriage | undefined } | undefined
  /** The last loss after which a key picture was written. */
  #losses: number

  constructor(source: FormatSource, streams: TsStreams) {
    this.#source = source
    this.#streams = streams
    this.#losses = source.live ? source.losses : -1
    const { video, klv, sound } = streams
    // The next pictures may be decoded before the last of these.
    const cached = video.gop?.units ?? []
    this.#entryMs = cached[0]?.mediaMs ?? Number.NEGATIVE_INFINITY
    for (const unit of cached) {
      const picture = source.elementary.picture(unit)
      if (picture === undefined || this.#leads(unit)) continue
      // KLV of the last of these may still come.
      this.#muxing.klv.add({ mediaMs: unit.mediaMs, pts: this.#timesOf(unit, picture, 0).pts }, unit.arrivedMs)
    }
    // The picture of the newest packet may still come.
    for (const unit of klv?.gop?.units ?? []) this.#muxing.klv.ptsOf(unit)
    // A receiver gets what is cached on its own, or not at all.
    for (const [track, stream] of [video, klv, sound].entries()) {
      const unit = stream?.gop?.units.at(-1)
      if (unit !== undefined) this.#newest[track] = { unit, chunk: undefined }
    }
    // Every unit, also one that no receiver takes: the counters must be the same for all.
    this.#unsubscribe = [video, klv, sound].flatMap((stream, at) => stream?.onUnit((unit) => void this.chunk(at, unit)) ?? [])
  }

  createSink(out: Writable): TsSink {
    return new TsSink(out, this)
  }

  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  chunk(track: number, unit: AccessUnit): Chunk | undefined {
    const newest = this.#newest[track]
    if (newest !== undefined && unit.index <= newest.unit.index) return newest.unit === unit ? newest.chunk : undefined
    const chunk = this.#write(this.#muxing, track, unit, 0)
    this.#newest[track] = { unit, chunk }
    return chunk
  }

  gop(compressed: boolean): Map<AccessUnit, Chunk | undefined> {
    const { video, klv, sound } = this.#streams
    const tracks = [video.gop?.units ?? [], klv?.gop?.units ?? []]
    if (tracks[0]?.length === 0) return new Map()
    const plan = planCatchUp(tracks, performance.now(), frameRateHint(video).mustBeGuessed)
    const muxing = newMuxing()
    const chunks = new Map<AccessUnit, Chunk | undefined>()
    let reorders = !compressed
    for (const [track, units] of tracks.entries()) {
      for (const unit of units) {
        // Times of B-frames lie between others: compressed, they would not fit those of the next pictures.
        reorders ||= (this.#source.elementary.picture(unit)?.reorderFrames ?? 0) > 0
        const chunk = this.#write(muxing, track, unit, reorders ? 0 : compress(plan, unit.mediaMs) - unit.mediaMs)
        if (chunk !== undefined) chunks.set(unit, chunk)
      }
    }
    // Sound has its own times: it begins where the pictures begin for this receiver.
    const fromMs = reorders ? plan.startMs : compress(plan, plan.startMs)
    for (const unit of sound?.gop?.units ?? []) chunks.set(unit, unit.mediaMs < fromMs ? undefined : this.#write(muxing, 2, unit, 0))
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
    const write = [this.#writeVideo, this.#writeKlv, this.#writeSound][track]
    const bytes = write?.call(this, muxing, unit, shiftMs)
    return bytes === undefined ? undefined : { bytes, before, after: muxing.muxer.counters }
  }

  #writeVideo(muxing: Muxing, unit: AccessUnit, shiftMs: number): Buffer | undefined {
    const picture = this.#source.elementary.picture(unit)
    if (picture === undefined || this.#waitsForKey(unit) || this.#leads(unit)) return undefined
    const times = this.#timesOf(unit, picture, shiftMs)
    const mediaMs = unit.mediaMs + shiftMs
    const nals = this.#withFrameRate(delimited(picture), picture)
    const klv = this.#klvOf({ mediaMs: unit.mediaMs, pts: times.pts }, muxing, unit.arrivedMs)
    const tables = this.#tablesOf(picture, muxing, mediaMs)
    return muxing.muxer.video(annexB(nals), { ...times, key: picture.key }, [...tables, ...klv])
  }

  #tablesOf(picture: CodedPicture, muxing: Muxing, mediaMs: number): readonly Buffer[] {
    if (!picture.key && mediaMs - muxing.tablesMs < TABLES_MS) return []
    muxing.tablesMs = mediaMs
    return [muxing.muxer.tables(this.#programOf(picture))]
  }

  #withFrameRate(nals: readonly Nal[], { codec, key }: CodedPicture): readonly Nal[] {
    const { frameRate } = this.#streams
    if (frameRate === undefined || !key) return nals
    return nals.map((nal) => {
      const sps = codec.parameterSets.get(nal.type) === 'sps' ? codec.withFrameRate(nalBytes(nal), frameRate) : undefined
      return sps === undefined ? nal : { type: nal.type, pieces: [sps] }
    })
  }

  /** The synchronous KLV that came before its picture. */
  #klvOf(picture: { readonly mediaMs: number; readonly pts: number }, { muxer, klv }: Muxing, nowMs: number): readonly Buffer[] {
    if (this.#program?.klv !== 'synchronous') return []
    return klv.add(picture, nowMs).map(({ unit, pts }) => muxer.timedKlv(unit.payload(), pts, unit.index))
  }

  #writeKlv({ muxer, klv }: Muxing, unit: AccessUnit, shiftMs: number): Buffer | undefined {
    // Receivers learn of the KLV with the next tables.
    const carriage = this.#program?.klv
    if (carriage === 'asynchronous') return muxer.klv(unit.payload(), ticksOf(unit.mediaMs + shiftMs))
    const pts = carriage === 'synchronous' ? klv.ptsOf(unit) : undefined
    return pts === undefined ? undefined : muxer.timedKlv(unit.payload(), pts, unit.index)
  }

  #writeSound({ muxer }: Muxing, unit: AccessUnit): Buffer | undefined {
    const { readable } = this.#source.sound
    const carriage = this.#program?.sound
    if (carriage === undefined || readable === undefined) return undefined
    const frames = readable.sound.frames(unit.payloads())
    return frames.length === 0 ? undefined : muxer.sound(carriage.pack(frames), ticksOf(unit.mediaMs), carriage.streamId)
  }

  #timesOf(unit: AccessUnit, { reorderFrames }: CodedPicture, shiftMs: number): Times {
    const pts = ticksOf(unit.mediaMs + shiftMs)
    if (shiftMs !== 0) return { pts, dts: pts }
    const known = this.#times.get(unit.identity)
    if (known !== undefined) return known
    const dts = this.#clock.next(pts, reorderFrames)
    const times = { pts: Math.max(pts, dts), dts }
    this.#times.set(unit.identity, times)
    return times
  }

  /** The same object while the sound stays the same. */
  #soundCarriage(): SoundCarriage | undefined {
    const sound = this.#streams.sound === undefined ? undefined : this.#source.sound.readable?.sound
    if (this.#carried?.sound !== sound) this.#carried = { sound, carriage: sound && soundCarriage(sound) }
    return this.#carried?.carriage
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
    const klv = this.#streams.klv?.caps !== undefined && this.#streams.klvCarriage()
    const sound = this.#soundCarriage()
    const before = this.#program
    if (before?.videoType === codec.streamType && before.klv === klv && before.sound === sound) return before
    this.#program = { videoType: codec.streamType, klv, sound, version: (before?.version ?? -1) + 1 }
    return this.#program
  }
}

const ticksOf = (mediaMs: number): number => FIRST_TICK + Math.round(mediaMs * 90)

/** Each access unit begins with a delimiter (ISO/IEC 13818-1 sections 2.14.1 and 2.17.1). */
const delimited = ({ codec, nals }: CodedPicture): readonly Nal[] =>
  nals[0]?.type === codec.accessUnitDelimiter ? nals : [{ type: codec.accessUnitDelimiter, pieces: [codec.delimiter] }, ...nals]
