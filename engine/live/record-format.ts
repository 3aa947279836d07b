import type { Writable } from 'node:stream'
import { configRecord, eventRecord } from '../../lib/video-records.ts'
import type { DecoderConfig } from '../codec/codecs.ts'
import { ByteSink } from '../formats/byte-sink.ts'
import type { Format, FormatSource } from '../formats/format.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { pictureRecord } from './picture-record.ts'

/** A client gets source_lost again after this time, milliseconds: proxies close connections that are silent. */
const REMIND_MS = 30_000

/** The records of `/video`; each picture is written once for all clients. */
export class RecordFormat implements Format {
  readonly #source: FormatSource
  readonly #records = new WeakMap<AccessUnit, Buffer>()

  constructor(source: FormatSource) {
    this.#source = source
  }

  createSink(out: Writable): VideoSink {
    return new VideoSink(out, this.#source, this.#records)
  }

  close(): void {}
}

/** One client of `GET /svc/pipeline/{id}/video`. */
class VideoSink extends ByteSink {
  readonly #source: FormatSource
  readonly #records: WeakMap<AccessUnit, Buffer>
  #config: DecoderConfig | undefined
  /** The loss after which this client has had a key picture; -1 when it came while the source was away. */
  #losses: number
  /** When source_lost was sent, monotonic milliseconds. */
  #lostSentMs: number | undefined
  /** The latest time that was sent. */
  #timeMs = 0

  constructor(out: Writable, source: FormatSource, records: WeakMap<AccessUnit, Buffer>) {
    super(out)
    this.#source = source
    this.#records = records
    this.#losses = source.live ? source.losses : -1
  }

  /** A client that comes while the source is away gets what is known before the first picture. */
  begin(): void {
    const { elementary, live } = this.#source
    if (live) return
    this.#timeMs = performance.now()
    if (elementary.config !== undefined) this.write(this.#configure(elementary.config))
    this.#sendLost()
  }

  send(_track: number, unit: AccessUnit): number {
    const picture = this.#source.elementary.picture(unit)
    if (picture === undefined) return 0
    const back = unit.index >= this.#source.firstUnitAfterLoss && this.#losses !== this.#source.losses
    if (!picture.key && (back || this.#config === undefined)) return 0
    const before = back ? this.#comeBack(unit.mediaMs) : []
    this.#timeMs = Math.max(this.#timeMs, unit.mediaMs)
    if (picture.key && picture.config !== this.#config) before.push(this.#configure(picture.config))
    const record = this.#recordOf(unit, () => pictureRecord(picture, unit.mediaMs))
    return this.write(before.length === 0 ? record : Buffer.concat([...before, record]))
  }

  /** Sends source_lost, at once and then at an interval, when everything before it is sent. */
  check(drained: boolean): void {
    const { live, losses } = this.#source
    if (live || !drained || this.busy || this.#losses === losses) return
    if (this.#lostSentMs === undefined || performance.now() - this.#lostSentMs >= REMIND_MS) this.#sendLost()
  }

  #sendLost(): void {
    this.#lostSentMs = performance.now()
    this.write(eventRecord(this.#timeMs, 'source_lost'))
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
