import { randomBytes } from 'node:crypto'
import { AccessUnit } from './access-unit.ts'
import { type RtpCaps, sameFormat } from './caps.ts'
import { FollowingCache } from './following-cache.ts'
import { type Fragmenter, fragmenterOf, MAX_PASSED_BYTES, numbered } from './fragment.ts'
import { type Gop, GopCache, type GopLimits } from './gop-cache.ts'
import { Listeners } from './listeners.ts'
import { type Payload, payloadOf, payloadsOf } from './packet/packet.ts'
import { RtpFramingError } from './packet/rtp-framing-error.ts'
import { hasFields, keepsOrder } from './repair/keeps-order.ts'
import { asReceived, NalRepair, type RepairedUnit } from './repair/nal-repair.ts'
import { isNalCodec } from './repair/nal-units.ts'
import { recoveryFrames } from './repair/recovery-point.ts'
import { isBidirectional } from './repair/slices.ts'
import { SequenceNumbers } from './sequence-numbers.ts'
import { StreamClock } from './stream-clock.ts'
import { Timeline } from './timeline.ts'
import { UnitAssembler, type UnitFacts } from './unit-assembler.ts'

/** More malformed packets in a row mean that the source sends something else. */
const MAX_MALFORMED_IN_A_ROW = 50

export interface RtpStreamOptions {
  /** Shared by the streams of one child, so that their timestamps are comparable. */
  readonly timeline?: Timeline
  readonly gop?: Partial<GopLimits>
  /** Where its cached GOP begins, the cached units of this stream do: those of sound. */
  readonly follows?: RtpStream
  readonly now?: () => number
  /** Called with the first error of each listener that throws; by default the error is thrown and not caught. */
  readonly onListenerError?: (error: unknown) => void
}

interface RtpStreamStats {
  readonly packets: number
  readonly bytes: number
  readonly units: number
  readonly malformedPackets: number
  /** How often packets of the source were missing: by their sequence numbers, or by what its child prints. */
  readonly gaps: number
  /** Monotonic milliseconds (performance.now()) of the newest unit, undefined before the first. */
  readonly lastUnitMs: number | undefined
}

type Beginning = { readonly fragmenting?: boolean; readonly foreign?: boolean; readonly caps?: string | null; readonly sure?: boolean }

/** One RTP stream over any number of children: SSRC, sequence numbers and timestamps continue when a child is replaced. */
export class RtpStream {
  readonly ssrc = randomBytes(4).readUInt32BE()
  readonly #now: () => number
  readonly #clock: StreamClock
  readonly follows: boolean
  readonly #cache: GopCache | FollowingCache
  readonly #assembler = new UnitAssembler(
    (payloads, facts) => this.#emit(payloads, facts),
    (packets) => this.#drop(packets),
  )
  readonly #sequences = new SequenceNumbers()
  readonly #unitListeners: Listeners<[unit: AccessUnit]>
  readonly #capsListeners: Listeners<[caps: RtpCaps, previous: RtpCaps | undefined]>
  readonly #lossListeners: Listeners<[]>
  #caps: RtpCaps | undefined
  #capsOfRun = false
  /** The present run is to have this stream, and names its caps later. */
  #announced: false | 'maybe' | 'surely' = false
  /** Packets of the present run may be too large for readers. */
  #fragmenting = false
  /** The packets of the present run come from a payloader that is not ours. */
  #foreign = false
  #repair: NalRepair | undefined
  #fragment: Fragmenter = fragmenterOf('')
  #live = false
  #liveSinceMs = Number.NEGATIVE_INFINITY
  #malformedInARow = 0
  #gapsOfChildren = 0
  #stats = { packets: 0, bytes: 0, units: 0, malformedPackets: 0, lastUnitMs: undefined as number | undefined }

  constructor(options: RtpStreamOptions = {}) {
    this.#now = options.now ?? (() => performance.now())
    this.#clock = new StreamClock(options.timeline ?? new Timeline(this.#now()), randomBytes(4).readUInt32BE())
    this.follows = options.follows !== undefined
    this.#cache = options.follows === undefined ? new GopCache(options.gop) : new FollowingCache(options.follows)
    this.#unitListeners = new Listeners(options.onListenerError)
    this.#capsListeners = new Listeners(options.onListenerError)
    this.#lossListeners = new Listeners(options.onListenerError)
  }

  /** Caps of the stream, undefined before those of the first run are known. The payload type stays that of the first run. */
  get caps(): RtpCaps | undefined {
    return this.#caps
  }

  /** The access units since the newest key frame of the present run. */
  get gop(): Gop | undefined {
    return this.#cache.gop
  }

  /** Media time at which the cached units begin, monotonic milliseconds. */
  get gopStartMs(): number | undefined {
    return this.#cache.startMs
  }

  /** The present run has had a key frame. */
  get live(): boolean {
    return this.#live
  }

  /** Monotonic milliseconds of the first key frame of the newest run that had one. */
  get liveSinceMs(): number {
    return this.#liveSinceMs
  }

  /** The stream is to come, but cannot be described yet. */
  get awaitsCaps(): false | 'maybe' | 'surely' {
    return this.#caps === undefined && this.#announced
  }

  /** Packets are held: their memory must not change. */
  get holds(): boolean {
    return this.#assembler.holds
  }

  get stats(): RtpStreamStats {
    return { ...this.#stats, gaps: this.#sequences.gaps + this.#gapsOfChildren }
  }

  /** Counts a gap that the child has found in what it reads. */
  noteGap(): void {
    this.#gapsOfChildren += 1
  }

  /** Media time at which the running time of the present run began, monotonic milliseconds; known with its first unit. */
  get runStartMs(): number {
    return this.#clock.runStartMs
  }

  /** RTP timestamp of a media time of this stream, monotonic milliseconds. */
  timestampAt(mediaMs: number): number {
    return this.#clock.timestampAt(mediaMs)
  }

  /** RTP timestamp of the moment `nowMs` of the monotonic clock (sender reports, RFC 3550 section 6.4.1). */
  timestampNow(nowMs: number): number {
    return this.#clock.timestampNow(nowMs)
  }

  /** Calls back with every access unit, in order; returns the function that unsubscribes. */
  onUnit(listener: (unit: AccessUnit) => void): () => void {
    return this.#unitListeners.add(listener)
  }

  /** Calls back with the new and the previous caps whenever caps are set; returns the function that unsubscribes. */
  onCaps(listener: (caps: RtpCaps, previous: RtpCaps | undefined) => void): () => void {
    return this.#capsListeners.add(listener)
  }

  /** Calls back when the present run ends after its first key frame. */
  onLoss(listener: () => void): () => void {
    return this.#lossListeners.add(listener)
  }

  /**
   * Begins a run; its caps come before its packets. With `fragmenting`, H.264 and H.265 packets of any size become fragments that
   * readers can take. `foreign`: the packets are those of another payloader than ours; they are fragmented as well, and key frames get
   * their parameter sets. `caps`: null when they are not known in advance; `sure`: they will come.
   */
  begin({ fragmenting = false, foreign = false, caps, sure = false }: Beginning = {}): void {
    this.end()
    this.#announced = caps === null && (sure ? 'surely' : 'maybe')
    this.#capsOfRun = false
    this.#fragmenting = fragmenting || foreign
    this.#foreign = foreign
    this.#repair = undefined
    this.#assembler.begin(foreign ? 'network' : 'child')
    this.#sequences.begin()
    this.#clock.begin(this.#now())
  }

  /** The child has ended: drops the open unit; a reader that joins now waits for the next run. */
  end(): void {
    this.#assembler.reset()
    this.#malformedInARow = 0
    const wasLive = this.#live
    this.#live = false
    this.#cache.clear()
    if (wasLive) this.#lossListeners.call()
  }

  /** Sets the caps of the present child's payloader. May be repeated, when parameter sets become known or change. */
  setCaps(caps: RtpCaps): void {
    const previous = this.#caps
    const same = previous !== undefined && sameFormat(previous, caps)
    this.#caps = same ? { ...caps, payload: previous.payload } : caps
    if (!this.#capsOfRun || !same) this.#clock.setCaps(caps)
    this.#clock.keepsOrder = keepsOrder(caps.encodingName, caps.parameters)
    this.#clock.hasFields = hasFields(caps.encodingName, caps.parameters)
    if (!same) {
      this.#assembler.setEncoding(caps.encodingName)
      this.#fragment = fragmenterOf(caps.encodingName)
      this.#live = false
      this.#cache.clear()
    }
    if (this.#foreign && (!this.#capsOfRun || !same)) this.#repair = repairOf(caps)
    this.#capsOfRun = true
    this.#capsListeners.call(this.#caps, previous)
  }

  /** Takes one RTP packet, which must not change while `holds` is true. Throws RtpFramingError after many malformed ones. */
  ingestPacket(packet: Buffer): void {
    this.#take(packet)
    this.#assembler.closeAfterSilence()
  }

  /** Counts bytes that were read; packets of ingestPacket are views of them. */
  noteRead(bytes: number): void {
    this.#assembler.noteRead(bytes)
  }

  #drop(packets: number): void {
    this.#stats.malformedPackets += packets
  }

  #take(packet: Buffer): void {
    const payload = payloadOf(packet)
    if (payload === undefined) {
      this.#drop(1)
      if (++this.#malformedInARow > MAX_MALFORMED_IN_A_ROW) throw new RtpFramingError()
      return
    }
    this.#malformedInARow = 0
    if (this.#capsOfRun) this.#assembler.push(payload)
    else this.#drop(1)
  }

  #emit(received: readonly Payload[], { timestamp: childTimestamp, key: startsKey, repeats }: UnitFacts): void {
    const arrivedMs = this.#now()
    const { packets, sequences: given, key } = this.#repaired(received, childTimestamp, startsKey)
    const caps = this.#caps
    if (caps === undefined || packets.length === 0) return
    // No picture of H.264 and H.265 is shown before one that came before its key frame: a source that goes back has restarted.
    const restarted = key && this.#repair !== undefined && this.#clock.isBackward(childTimestamp)
    if (restarted) this.#sequences.begin()
    const reordered = this.#clock.keepsOrder && isBidirectional(caps.encodingName, payloadsOf(packets))
    const { timestamp, mediaMs } = this.#clock.map(childTimestamp, arrivedMs, { restarted, repeats, reordered })
    const { parts, sequences } = numbered(packets, given, this.#sequences, this.#fragmenting ? this.#fragment : undefined)
    const header = { payload: caps.payload, ssrc: this.ssrc, timestamp, sequences }
    const recovery = key ? recoveryFrames(caps.encodingName, payloadsOf(packets)) : 0
    const unit = AccessUnit.of(parts, header, { index: this.#stats.units, key, recoveryFrames: recovery, mediaMs, arrivedMs })
    this.#count(unit)
    this.#cache.add(unit)
    this.#unitListeners.call(unit)
    unit.release()
  }

  #repaired(received: readonly Payload[], timestamp: number, key: boolean): RepairedUnit {
    const repair = this.#repair
    if (repair === undefined) return asReceived(received, key)
    const repaired = repair.repair(received, timestamp, key)
    const parameters = repair.newParameters()
    if (parameters !== undefined && this.#caps !== undefined) {
      this.setCaps({ ...this.#caps, parameters: new Map([...this.#caps.parameters, ...parameters]) })
    }
    return repaired
  }

  #count(unit: AccessUnit): void {
    this.#stats.packets += unit.packetCount
    this.#stats.bytes += unit.bytes
    this.#stats.units += 1
    this.#stats.lastUnitMs = unit.arrivedMs
    if (unit.key && !this.#live) {
      this.#live = true
      this.#liveSinceMs = this.#now()
    }
  }
}

const repairOf = ({ encodingName: name, parameters }: RtpCaps): NalRepair | undefined =>
  isNalCodec(name) ? new NalRepair(name, { parameters, maxPacketBytes: MAX_PASSED_BYTES }) : undefined
