import type { Writable } from 'node:stream'
import type { DecoderConfig } from '../codec/codecs.ts'
import { ByteSink } from '../formats/byte-sink.ts'
import type { Format, FormatSource } from '../formats/format.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { jsonRecord, pictureRecord, RECORD_KINDS } from './video-records.ts'

/** How often a client is told again that the source is away, milliseconds: silence would make those between us close the connection. */
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
  /** The losses after which this client has had a key picture; -1 for one that came while the source was away. */
  #losses: number
  /** Was told that the source is lost, monotonic milliseconds. */
  #toldLostMs: number | undefined
  /** The latest time that was sent. */
  #timeMs = 0

  constructor(out: Writable, source: FormatSource, records: WeakMap<AccessUnit, Buffer>) {
    super(out)
    this.#source = source
    this.#records = records
    this.#losses = source.live ? source.losses : -1
  }

  /** What is known before the first picture, for a client that comes while the source is away. */
  begin(): void {
    const { elementary, live } = this.#source
    if (live) return
    this.#timeMs = performance.now()
    if (elementary.config !== undefined) this.write(this.#configure(elementary.config))
    this.#tellLost()
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

  /** Tells the client that the source is lost, at once and then at an interval, when all before it is sent. */
  check(drained: boolean): void {
    const { live, losses } = this.#source
    if (live || !drained || this.busy || this.#losses === losses) return
    if (this.#toldLostMs === undefined || performance.now() - this.#toldLostMs >= REMIND_MS) this.#tellLost()
  }

  #tellLost(): void {
    this.#toldLostMs = performance.now()
    this.write(jsonRecord(RECORD_KINDS.event, this.#timeMs, { type: 'source_lost' }))
  }

  #comeBack(timeMs: number): Buffer[] {
    const lost = this.#toldLostMs === undefined ? [jsonRecord(RECORD_KINDS.event, this.#timeMs, { type: 'source_lost' })] : []
    this.#losses = this.#source.losses
    this.#toldLostMs = undefined
    return [...lost, jsonRecord(RECORD_KINDS.event, timeMs, { type: 'source_back' })]
  }

  #configure(config: DecoderConfig): Buffer {
    this.#config = config
    return jsonRecord(RECORD_KINDS.config, this.#timeMs, config)
  }

  #recordOf(unit: AccessUnit, make: () => Buffer): Buffer {
    const known = this.#records.get(unit)
    if (known !== undefined) return known
    const record = make()
    this.#records.set(unit, record)
    return record
  }
}
