import type { EngineChange } from '../../lib/engine/messages.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Geolocation, KlvView } from '../../lib/schema/pipeline.ts'
import { geolocationOf } from '../../lib/st0601/geolocation.ts'
import { type KlvFeature, type KlvPacketJson, klvFeature, klvPacketJson } from '../../lib/st0601/json.ts'
import type { KlvPacket } from '../../lib/st0601/packet.ts'
import { KlvStreamParser } from '../../lib/st0601/stream-parser.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { RtpStream } from '../rtp/stream.ts'
import { type FootprintFeature, footprintFeature } from './footprint/feature.ts'

/** KLV counters of one pipeline since it was registered. */
export interface KlvCounts {
  readonly pipelineId: string
  readonly decoded: number
  readonly badChecksum: number
  readonly malformed: number
  /** Number of gaps in the RTP sequence. */
  readonly gaps: number
}

interface KlvTapOptions {
  readonly id: string
  readonly stream: RtpStream
  readonly status: () => { readonly playing: boolean; readonly extractsGeolocation: boolean }
  /** Called when `view` has changed. */
  readonly onChange: () => void
  readonly emit: (change: EngineChange) => void
  /** Called with the position of each packet that updates the geolocation, and its time on the timeline of the video, monotonic milliseconds. */
  readonly onPosition: (geolocation: Geolocation, mediaMs: number) => void
  /** Wall clock, milliseconds since the epoch. */
  readonly now: () => number
}

/** Least time between two geolocation events. */
const GEOLOCATION_INTERVAL_MS = 1000
/** Larger units are dropped undecoded: no metadata is this large. Bytes. */
const MAX_UNIT_BYTES = 256 * 1024

interface Received {
  readonly packet: KlvPacket
  /** Milliseconds since the epoch. */
  readonly at: number
}

interface Subscriber {
  readonly onPacket: (packet: KlvPacketJson) => void
  /** The pipeline is removed; no packet follows. */
  readonly onEnd: () => void
}

/** A packet with a position. */
export interface Located extends Received {
  readonly geolocation: Geolocation
  /** Monotonic milliseconds. */
  readonly arrivedMs: number
}

/** The KLV of one pipeline: detects whether the source sends any, and decodes it while extraction is on. */
export class KlvTap {
  readonly #options: KlvTapOptions
  readonly #decoder = new KlvStreamParser()
  readonly #subscribers = new Set<Subscriber>()
  #available = false
  #synchronous = false
  /** Extraction is on, from klv/start (or play, when automatic) until klv/stop or the end of the play. */
  #extracting = false
  #last: Received | undefined
  /** The last packet with a position. */
  #lastLocated: Located | undefined
  #nextSequence: number | undefined
  #gaps = 0
  #oversized = 0
  #geolocationSentMs = Number.NEGATIVE_INFINITY
  #unsent: Geolocation | undefined

  constructor(options: KlvTapOptions) {
    this.#options = options
    options.stream.onUnit((unit) => this.#onUnit(unit))
  }

  view(): KlvView {
    if (!this.#available) return { available: false }
    return { available: true, state: this.#extracting && this.#options.status().playing ? 'playing' : 'stopped' }
  }

  counts(): KlvCounts {
    const { packets, badChecksums, malformed } = this.#decoder.counters
    const { id } = this.#options
    return { pipelineId: id, decoded: packets, badChecksum: badChecksums, malformed: malformed + this.#oversized, gaps: this.#gaps }
  }

  /** A play begins: starts extraction if the configuration asks for geolocation. */
  begin(): void {
    this.#extracting = this.#options.status().extractsGeolocation
    this.#geolocationSentMs = Number.NEGATIVE_INFINITY
  }

  /** The play has ended: stops extraction; the last packet stays available. */
  end(): void {
    this.#sendGeolocation()
    this.#extracting = false
  }

  /** The configuration was replaced: forgets what belongs to the previous source. */
  forget(): void {
    this.#available = false
    this.#synchronous = false
    this.#last = undefined
    this.#lastLocated = undefined
  }

  /** The source sends its KLV with the times of its frames: stream type 0x15 of MPEG-TS. */
  get isSynchronous(): boolean {
    return this.#synchronous
  }

  /** Sets whether the source has KLV, as its description announces, and whether it is synchronous. */
  announce(available: boolean, synchronous = this.#synchronous): void {
    this.#synchronous = synchronous
    if (this.#available === available) return
    this.#available = available
    this.#options.onChange()
  }

  /** Starts extraction. CONFLICT with `details.reason` when the pipeline does not play or the source has no KLV. */
  start(): void {
    const { id, status } = this.#options
    if (!status().playing) throw new ApiError('CONFLICT', `The pipeline "${id}" is not playing. Start it first.`, { reason: 'not_playing' })
    if (!this.#available)
      throw new ApiError('CONFLICT', `The source of the pipeline "${id}" has sent no KLV yet. Try again when it sends KLV.`, {
        reason: 'no_klv',
      })
    this.#setExtracting(true)
  }

  /** Stops extraction, if it is on. */
  stop(): void {
    this.#sendGeolocation()
    this.#setExtracting(false)
  }

  /** The last packet as JSON, with its age. NOT_FOUND before the first. */
  latest(): KlvPacketJson {
    const { packet, arrival } = this.#lastArrival()
    return klvPacketJson(packet, arrival)
  }

  /** The last packet as a GeoJSON Feature. NOT_FOUND before the first. */
  latestFeature(): KlvFeature {
    const { packet, arrival } = this.#lastArrival()
    return klvFeature(packet, arrival)
  }

  /** The last packet with a position; undefined before the first. */
  located(): Located | undefined {
    return this.#lastLocated
  }

  /** As `located`. NOT_FOUND before the first packet, and with `details.reason` no_position when none had a position. */
  latestLocated(): Located {
    this.#lastArrival()
    if (this.#lastLocated !== undefined) return this.#lastLocated
    throw new ApiError('NOT_FOUND', `No KLV packet of the pipeline "${this.#options.id}" had a position (tags 13 and 14).`, {
      reason: 'no_position',
    })
  }

  /** What the sensor sees, as a GeoJSON Feature. NOT_FOUND with `details.reason` no_footprint before the first packet and when it has none. */
  latestFootprint(): FootprintFeature {
    const { packet, arrival } = this.#lastArrival({ reason: 'no_footprint' })
    return footprintFeature(packet, arrival)
  }

  /** Calls back with every packet decoded from now on; returns the function that unsubscribes. */
  subscribe(subscriber: Subscriber): () => void {
    this.#subscribers.add(subscriber)
    return () => {
      this.#subscribers.delete(subscriber)
    }
  }

  /** Ends every subscription, when the pipeline is removed: another one may get its id. */
  close(): void {
    for (const { onEnd } of [...this.#subscribers]) onEnd()
  }

  #setExtracting(extracting: boolean): void {
    if (this.#extracting === extracting) return
    this.#extracting = extracting
    this.#options.onChange()
  }

  #lastArrival(details: Readonly<Record<string, string>> = {}) {
    const { id, now } = this.#options
    if (this.#last === undefined)
      throw new ApiError('NOT_FOUND', `No KLV packet of the pipeline "${id}" has been decoded yet. Start KLV extraction first.`, details)
    return { packet: this.#last.packet, arrival: { pipelineId: id, receivedAt: this.#last.at, now: now() } }
  }

  #onUnit(unit: AccessUnit): void {
    if (this.#options.stream.caps?.encodingName !== 'SMPTE336M') return
    this.announce(true)
    this.#detectGap(unit)
    if (!this.#extracting) return
    if (unit.bytes > MAX_UNIT_BYTES) {
      this.#oversized += 1
      this.#decoder.reset()
      return
    }
    for (const packet of this.#decoder.push(unit.payload())) this.#onPacket(packet, unit)
  }

  #detectGap({ firstSequence, lastSequence }: AccessUnit): void {
    const lost = this.#nextSequence !== undefined && firstSequence !== this.#nextSequence
    this.#nextSequence = (lastSequence + 1) & 0xffff
    if (!lost) return
    this.#gaps += 1
    this.#decoder.reset()
  }

  #onPacket(packet: KlvPacket, { arrivedMs, mediaMs }: AccessUnit): void {
    const { id, now, status, onPosition } = this.#options
    const at = now()
    this.#last = { packet, at }
    const geolocation = geolocationOf(packet)
    if (geolocation !== null) this.#lastLocated = { packet, at, arrivedMs, geolocation }
    if (geolocation !== null && status().extractsGeolocation) {
      onPosition(geolocation, mediaMs)
      this.#updateGeolocation(geolocation, arrivedMs)
    }
    // Most of the time there is no subscriber, and creating the object costs more than decoding.
    if (this.#subscribers.size === 0) return
    const json = klvPacketJson(packet, { pipelineId: id, receivedAt: at, now: at })
    for (const { onPacket } of this.#subscribers) onPacket(json)
  }

  #updateGeolocation(geolocation: Geolocation, arrivedMs: number): void {
    this.#unsent = geolocation
    if (arrivedMs - this.#geolocationSentMs < GEOLOCATION_INTERVAL_MS) return
    this.#geolocationSentMs = arrivedMs
    this.#sendGeolocation()
  }

  /** Emits the newest position; when extraction ends, even if the previous event was sent just before. */
  #sendGeolocation(): void {
    const geolocation = this.#unsent
    this.#unsent = undefined
    if (geolocation !== undefined) this.#options.emit({ type: 'geolocation', id: this.#options.id, geolocation })
  }
}
