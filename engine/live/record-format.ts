import type { Writable } from 'node:stream'
import { configRecord, eventRecord, soundConfigRecord, soundRecord } from '../../lib/video-records.ts'
import type { SoundConfig } from '../codec/audio/sound-codecs.ts'
import type { DecoderConfig } from '../codec/codecs.ts'
import { ByteSink } from '../formats/byte-sink.ts'
import type { Format, FormatSource } from '../formats/format.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { FramedKlv } from './framed-klv.ts'
import { pictureRecord } from './picture-record.ts'

/** A client gets source_lost again after this time, milliseconds: proxies close connections that are silent. */
const REMIND_MS = 30_000

/** The records of `/video`; each picture is written once for all clients. */
export class RecordFormat implements Format {
  readonly #source: FormatSource
  readonly #klv: RtpStream | undefined
  readonly #records = new WeakMap<AccessUnit, Buffer>()

  /** `klv`: undefined: without. */
  constructor(source: FormatSource, klv?: RtpStream) {
    this.#source = source
    this.#klv = klv
  }

  createSink(out: Writable): VideoSink {
    return new VideoSink(out, this.#source, { records: this.#records, klv: this.#klv })
  }

  close(): void {}
}

/** One client of `GET /svc/pipeline/{id}/video`. */
class VideoSink extends ByteSink {
  readonly #source: FormatSource
  readonly #records: WeakMap<AccessUnit, Buffer>
  #config: DecoderConfig | undefined
  #soundConfig: SoundConfig | undefined
  /** The loss after which this client has had a key picture; -1 when it came while the source was away. */
  #losses: number
  /** When source_lost was sent, monotonic milliseconds. */
  #lostSentMs: number | undefined
  /** The latest time that was sent. */
  #timeMs = 0
  readonly #klv: RtpStream | undefined
  /** Puts the KLV between the pictures; undefined: without. */
  readonly #framed: FramedKlv | undefined
  /** The KLV packet that was cached when the client came. */
  #cachedKlv: AccessUnit | undefined

  constructor(
    out: Writable,
    source: FormatSource,
    { records, klv }: { readonly records: WeakMap<AccessUnit, Buffer>; readonly klv: RtpStream | undefined },
  ) {
    super(out)
    this.#source = source
    this.#records = records
    this.#klv = klv
    this.#framed = klv && new FramedKlv({ write: (bytes) => void this.write(bytes), hasKlv: () => isKlv(klv) })
    this.#losses = source.live ? source.losses : -1
  }

  /** A client that comes while the source is away gets what is known before the first picture. */
  begin(): void {
    const { elementary, live } = this.#source
    // Before the cached pictures, one of which is its own.
    this.#cachedKlv = this.#klv?.gop?.units.at(-1)
    if (this.#cachedKlv !== undefined) this.#sendKlv(this.#cachedKlv)
    if (live) return
    this.#timeMs = performance.now()
    if (elementary.config !== undefined) this.write(this.#configure(elementary.config))
    this.#sendLost()
  }

  send(track: number, unit: AccessUnit): number {
    if (track === 1) return unit.index === this.#cachedKlv?.index ? 0 : this.#sendKlv(unit)
    if (track !== 0) return this.#sendSound(unit)
    const picture = this.#source.elementary.picture(unit)
    if (picture === undefined) return 0
    const back = unit.index >= this.#source.firstUnitAfterLoss && this.#losses !== this.#source.losses
    if (!picture.key && (back || this.#config === undefined)) return 0
    const before = back ? this.#comeBack(unit.mediaMs) : []
    this.#timeMs = Math.max(this.#timeMs, unit.mediaMs)
    if (picture.key && picture.config !== this.#config) before.push(this.#configure(picture.config))
    const record = this.#recordOf(unit, () => pictureRecord(picture, unit.mediaMs))
    const first = before.length === 0 ? undefined : Buffer.concat(before)
    if (this.#framed === undefined) return this.write(first === undefined ? record : Buffer.concat([first, record]))
    this.#framed.addPicture(unit, record, first)
    return record.length
  }

  #sendKlv(unit: AccessUnit): number {
    if (this.#klv === undefined || !isKlv(this.#klv)) return 0
    this.#framed?.addKlv(unit)
    return unit.bytes
  }

  /** Sound begins with the first picture, also after a loss. */
  #sendSound(unit: AccessUnit): number {
    const { sound, losses } = this.#source
    const config = sound.readable?.sound.config
    if (config === undefined || this.#config === undefined || this.#losses !== losses) return 0
    const isNew = this.#soundConfig !== config
    this.#soundConfig = config
    const records = this.#recordOf(unit, () => this.#soundRecords(unit))
    const bytes = isNew ? Buffer.concat([soundConfigRecord(unit.mediaMs, config), records]) : records
    this.#framed?.addOther(bytes)
    return this.#framed === undefined ? this.write(bytes) : bytes.length
  }

  #soundRecords(unit: AccessUnit): Buffer {
    const { sound } = this.#source.sound.readable ?? {}
    const records: Uint8Array[] = []
    let timeMs = unit.mediaMs
    for (const frame of sound?.frames(unit.payloads()) ?? []) {
      records.push(soundRecord(timeMs, frame))
      timeMs += sound?.frameMs(frame) ?? 0
    }
    return Buffer.concat(records)
  }

  /** Sends source_lost, at once and then at an interval, when everything before it is sent. */
  check(drained: boolean): void {
    const { live, losses } = this.#source
    if (live || !drained || this.busy || this.#losses === losses) return
    if (this.#lostSentMs === undefined || performance.now() - this.#lostSentMs >= REMIND_MS) this.#sendLost()
  }

  #sendLost(): void {
    this.#lostSentMs = performance.now()
    this.#framed?.flush()
    this.write(eventRecord(this.#timeMs, 'source_lost'))
  }

  override close(): void {
    super.close()
    this.#framed?.close()
  }

  #comeBack(timeMs: number): Uint8Array[] {
    const lost = this.#lostSentMs === undefined ? [eventRecord(this.#timeMs, 'source_lost')] : []
    this.#losses = this.#source.losses
    this.#lostSentMs = undefined
    return [...lost, eventRecord(timeMs, 'source_back')]
  }

  #configure(config: DecoderConfig): Uint8Array {
    this.#config = config
    return configRecord(this.#timeMs, config)
  }

  #recordOf(unit: AccessUnit, make: () => Buffer): Buffer {
    const known = this.#records.get(unit)
    if (known !== undefined) return known
    const record = make()
    this.#records.set(unit, record)
    return record
  }
}

/** The second stream of an advanced pipeline may carry something else. */
const isKlv = ({ caps, live }: RtpStream): boolean => live && caps?.encodingName === 'SMPTE336M'
