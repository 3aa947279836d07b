import type { EngineEvent } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Geolocation, KlvView } from '../../lib/schema/pipeline.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { geolocationOf } from './st0601/geolocation.ts'
import { type KlvFeature, type KlvPacketJson, klvFeature, klvPacketJson } from './st0601/json.ts'
import type { KlvPacket } from './st0601/packet.ts'
import { KlvStream } from './st0601/stream.ts'

/** What a KLV decoder has counted since its pipeline was registered. */
export interface KlvCounts {
  readonly pipelineId: string
  readonly decoded: number
  readonly badChecksum: number
  readonly malformed: number
  /** Times at which packets were missing. */
  readonly gaps: number
}

export interface KlvTapOptions {
  readonly id: string
  readonly stream: RtpStream
  readonly status: () => { readonly playing: boolean; readonly extractsGeolocation: boolean }
  /** What `view` says has changed. */
  readonly onChange: () => void
  readonly emit: (event: EngineEvent) => void
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number
}

/** A position is told at most this often. */
const PLACE_EVERY_MS = 1000
/** No metadata is this large: a larger unit is not even gathered. Bytes. */
const MAX_UNIT_BYTES = 256 * 1024

interface Received {
  readonly packet: KlvPacket
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** The KLV of one pipeline: whether there is any, and, while it is asked for, what it says. Passing it on is not its business. */
export class KlvTap {
  readonly #options: KlvTapOptions
  readonly #decoder = new KlvStream()
  readonly #followers = new Set<(packet: KlvPacketJson) => void>()
  #available = false
  /** Extraction is asked for, from klv/start (or play, when automatic) until klv/stop or the end of the play. */
  #wanted = false
  #last: Received | undefined
  #nextSequence: number | undefined
  #gaps = 0
  #oversized = 0
  #placeToldMs = Number.NEGATIVE_INFINITY
  #untold: Geolocation | undefined

  constructor(options: KlvTapOptions) {
    this.#options = options
    options.stream.onUnit((unit) => this.#onUnit(unit))
  }

  view(): KlvView {
    if (!this.#available) return { available: false }
    return { available: true, state: this.#wanted && this.#options.status().playing ? 'playing' : 'stopped' }
  }

  counts(): KlvCounts {
    const { packets, badChecksums, malformed } = this.#decoder.counters
    const { id } = this.#options
    return { pipelineId: id, decoded: packets, badChecksum: badChecksums, malformed: malformed + this.#oversized, gaps: this.#gaps }
  }

  /** A play begins: extraction turns on by itself where the configuration says so. */
  begin(): void {
    this.#wanted = this.#options.status().extractsGeolocation
    this.#placeToldMs = Number.NEGATIVE_INFINITY
  }

  /** The play is over; the last packet stays. */
  end(): void {
    this.#tellUntold()
    this.#wanted = false
  }

  /** The configuration was replaced: what is known is about another source. */
  forget(): void {
    this.#available = false
    this.#last = undefined
  }

  /** What the source says about itself, before or while it sends. */
  announce(available: boolean): void {
    if (this.#available === available) return
    this.#available = available
    this.#options.onChange()
  }

  /** Begins to decode. CONFLICT when nothing plays or the source has no KLV, with `details.reason`. */
  start(): void {
    const { id, status } = this.#options
    if (!status().playing) throw new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })
    if (!this.#available) throw new ApiError('CONFLICT', `The source of "${id}" has sent no KLV so far.`, { reason: 'no_klv' })
    this.#want(true)
  }

  /** Ends decoding; nothing to do when it does not run. */
  stop(): void {
    this.#tellUntold()
    this.#want(false)
  }

  /** The last packet with its age. NOT_FOUND before the first. */
  latest(): KlvPacketJson {
    const { packet, arrival } = this.#lastArrival()
    return klvPacketJson(packet, arrival)
  }

  /** The last packet as a GeoJSON Feature. NOT_FOUND before the first. */
  latestFeature(): KlvFeature {
    const { packet, arrival } = this.#lastArrival()
    return klvFeature(packet, arrival)
  }

  /** Calls back with every packet that is decoded from now on; returns what ends that. */
  follow(listener: (packet: KlvPacketJson) => void): () => void {
    this.#followers.add(listener)
    return () => {
      this.#followers.delete(listener)
    }
  }

  #want(wanted: boolean): void {
    if (this.#wanted === wanted) return
    this.#wanted = wanted
    this.#options.onChange()
  }

  #lastArrival() {
    const { id, now } = this.#options
    if (this.#last === undefined) throw new ApiError('NOT_FOUND', `No KLV packet of the pipeline "${id}" has been decoded yet.`)
    return { packet: this.#last.packet, arrival: { pipelineId: id, receivedAt: this.#last.at, now: now() } }
  }

  #onUnit(unit: AccessUnit): void {
    if (this.#options.stream.caps?.encodingName !== 'SMPTE336M') return
    this.announce(true)
    this.#watchSequence(unit)
    if (!this.#wanted) return
    if (unit.bytes > MAX_UNIT_BYTES) {
      this.#oversized += 1
      this.#decoder.reset()
      return
    }
    for (const packet of this.#decoder.push(unit.payload())) this.#onPacket(packet, unit.arrivedMs)
  }

  #watchSequence({ firstSequence, lastSequence }: AccessUnit): void {
    const lost = this.#nextSequence !== undefined && firstSequence !== this.#nextSequence
    this.#nextSequence = (lastSequence + 1) & 0xffff
    if (!lost) return
    this.#gaps += 1
    this.#decoder.reset()
  }

  #onPacket(packet: KlvPacket, arrivedMs: number): void {
    const { id, now, status } = this.#options
    const at = now()
    this.#last = { packet, at }
    if (status().extractsGeolocation) this.#notePlace(packet, arrivedMs)
    // Nobody follows most of the time, and making the object costs more than decoding.
    if (this.#followers.size === 0) return
    const json = klvPacketJson(packet, { pipelineId: id, receivedAt: at, now: at })
    for (const listener of this.#followers) listener(json)
  }

  #notePlace(packet: KlvPacket, arrivedMs: number): void {
    const place = geolocationOf(packet)
    if (place === null) return
    this.#untold = place
    if (arrivedMs - this.#placeToldMs < PLACE_EVERY_MS) return
    this.#placeToldMs = arrivedMs
    this.#tellUntold()
  }

  /** The last position of all is told when decoding ends, however soon after the one before. */
  #tellUntold(): void {
    const geolocation = this.#untold
    this.#untold = undefined
    if (geolocation !== undefined) this.#options.emit({ type: 'geolocation', id: this.#options.id, geolocation })
  }
}
