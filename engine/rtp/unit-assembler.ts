import { keyFrameDetector } from '../codec/key-frame.ts'
import { bytesOf, hasMarker, type Payload, timestampOf } from './packet/packet.ts'
import { isNalCodec } from './repair/nal-units.ts'
import { continuesPicture, isIntraEntry } from './repair/slices.ts'

/** How long an open unit waits for its next packet, milliseconds: until markers have been seen, and after that. */
interface Patience {
  readonly unmarked: number
  readonly marked: number
}

/**
 * A network may bring a key frame in many pieces, and a child is stopped between two packets where the host is busy. What was closed too early
 * is a broken picture in MPEG-TS and recordings; a marker that was lost delays its picture to the next one at most.
 */
const PATIENCE = {
  child: { unmarked: 2, marked: 250 },
  network: { unmarked: 100, marked: 250 },
} as const satisfies Record<string, Patience>

type Origin = keyof typeof PATIENCE
/** A unit that neither a marker nor a new timestamp closes is cut here. */
const MAX_UNIT_PACKETS = 16_384
/** A unit with more bytes is dropped, like a GOP that the cache cannot hold. */
const MAX_UNIT_BYTES = 32 * 1024 * 1024
/** Packets are views of larger reads and keep them in memory: a unit that keeps more is dropped as well. */
const MAX_READ_BYTES = 2 * MAX_UNIT_BYTES

/** Sound whose packets are whole frames; their marker, if any, is that of the first after a silence (RFC 3551 section 4.1). */
const WHOLE_PACKETS: ReadonlySet<string> = new Set(['OPUS', 'PCMU', 'PCMA', 'L16', 'MPA'])

/** What the packets of a unit say about it. */
export interface UnitFacts {
  readonly timestamp: number
  /** A decoder can start at it. */
  readonly key: boolean
  /** How many pictures of H.264 or H.265 before it have this timestamp. */
  readonly repeats: number
}

interface UnitEvents {
  /** The packets of one access unit. */
  readonly onUnit: (payloads: readonly Payload[], facts: UnitFacts) => void
  /** Called with the number of packets dropped from a unit that is too large. */
  readonly onDropped: (packets: number) => void
}

/** Groups the RTP packets of one child into access units: by marker, by timestamp, or by a short silence. */
export class UnitAssembler {
  readonly #events: UnitEvents
  #encodingName = ''
  #startsKeyFrame = keyFrameDetector('')
  #payloads: Payload[] = []
  #bytes = 0
  /** Bytes read since the unit began. */
  #readBytes = 0
  /** The unit was too large: the rest of it is dropped as well. */
  #dropping = false
  #timestamp = 0
  #key = false
  #markersSeen = false
  /** The last unit was closed by its marker. */
  #marked = false
  /** The source marks every slice, so that only another timestamp or a silence ends a picture. */
  #marksSlices = false
  /** Each packet is a unit: those of sound. */
  #closesEach = false
  /** Pictures that were closed by their marker before others with the same timestamp. */
  #repeats = 0
  /** The last unit was a key frame. */
  #lastKey = false
  /** The present run has key frames that are marked as such. */
  #hasKeys = false
  #patience: Patience = PATIENCE.child
  #timer: NodeJS.Timeout | undefined

  constructor(onUnit: UnitEvents['onUnit'], onDropped: UnitEvents['onDropped']) {
    this.#events = { onUnit, onDropped }
  }

  /** Sets the codec, by which key frames are recognized. */
  setEncoding(name: string): void {
    this.#encodingName = name.toUpperCase()
    this.#startsKeyFrame = keyFrameDetector(name)
    this.#marksSlices = false
    this.#closesEach = WHOLE_PACKETS.has(this.#encodingName)
  }

  /** Another run begins. */
  begin(origin: Origin): void {
    this.reset()
    this.#hasKeys = false
    this.#repeats = 0
    this.#patience = PATIENCE[origin]
  }

  /** A unit is open. */
  get holds(): boolean {
    return this.#payloads.length > 0
  }

  push(payload: Payload): void {
    const { packet } = payload
    const timestamp = timestampOf(packet)
    if (this.#dropping && timestamp === this.#timestamp) {
      this.#dropping = !hasMarker(packet)
      this.#events.onDropped(1)
      return
    }
    this.#dropping = false
    if (this.#payloads.length > 0 && (timestamp !== this.#timestamp || this.#payloads.length >= MAX_UNIT_PACKETS)) this.#close()
    else if (this.#marked && timestamp === this.#timestamp) this.#noteRepeated(bytesOf(payload))
    if (timestamp !== this.#timestamp) this.#repeats = 0
    this.#marked = false
    this.#timestamp = timestamp
    this.#key ||= this.#startsKeyFrame(packet, payload.start, payload.end)
    this.#payloads.push(payload)
    this.#bytes += packet.length
    const last = hasMarker(packet)
    if (last) this.#markersSeen = true
    if (this.#bytes > MAX_UNIT_BYTES) this.#drop(!last)
    else if ((last && !this.#marksSlices) || this.#closesEach) {
      this.#marked = true
      this.#close()
    }
  }

  /** Another picture, or a slice of the same one, with a marker of its own. */
  #noteRepeated(bytes: Buffer): void {
    if (continuesPicture(this.#encodingName, bytes)) this.#marksSlices = true
    else if (isNalCodec(this.#encodingName)) this.#repeats += 1
  }

  /** Counts bytes that were read, for this stream and for others. */
  noteRead(bytes: number): void {
    if (this.#payloads.length === 0) return
    this.#readBytes += bytes
    if (this.#readBytes > MAX_READ_BYTES) this.#drop(true)
  }

  /** Call after the packets of a chunk: closes an open unit when nothing more comes for it. */
  closeAfterSilence(): void {
    if (this.#payloads.length > 0 && this.#timer === undefined) this.#waitForSilence()
  }

  #waitForSilence(): void {
    const [first] = this.#payloads
    const count = this.#payloads.length
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        // Timers run before the pipes are read: bytes still in the pipe belong to the unit.
        setImmediate(() => this.#closeIfSilent(first, count))
      },
      this.#markersSeen && !this.#marksSlices ? this.#patience.marked : this.#patience.unmarked,
    )
    this.#timer.unref()
  }

  /** Drops the open unit. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#clear()
    this.#marked = false
    this.#dropping = false
  }

  #closeIfSilent(first: Payload | undefined, count: number): void {
    if (this.#payloads.length > 0 && this.#payloads[0] === first && this.#payloads.length === count) this.#close()
    this.closeAfterSilence()
  }

  #close(): void {
    const payloads = this.#payloads
    this.#hasKeys ||= this.#key
    const starts = this.#key || (!this.#hasKeys && isIntraEntry(this.#encodingName, eachBytesOf(payloads)))
    // The second field of a key frame may be marked as a recovery point too, but needs the first.
    const key = starts && !(this.#repeats === 1 && this.#lastKey)
    this.#lastKey = key
    if (this.#marksSlices) markLast(payloads)
    this.#clear()
    this.#events.onUnit(payloads, { timestamp: this.#timestamp, key, repeats: this.#repeats })
  }

  #drop(unfinished: boolean): void {
    const { length } = this.#payloads
    this.#clear()
    this.#dropping = unfinished
    this.#events.onDropped(length)
  }

  #clear(): void {
    this.#payloads = []
    this.#bytes = 0
    this.#readBytes = 0
    this.#key = false
  }
}

function* eachBytesOf(payloads: readonly Payload[]): Generator<Buffer> {
  for (const payload of payloads) yield bytesOf(payload)
}

/** Only the last packet of a picture has the marker (RFC 6184 section 5.1, RFC 7798 section 4.1). */
const markLast = (payloads: readonly Payload[]): void => {
  for (const [at, { packet }] of payloads.entries()) packet[1] = ((packet[1] ?? 0) & 0x7f) | (at === payloads.length - 1 ? 0x80 : 0)
}
