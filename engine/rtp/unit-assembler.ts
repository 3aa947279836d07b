import { keyFrameDetector } from './key-frame.ts'
import { hasMarker, type PayloadRange, timestampOf } from './packet.ts'

/** How long to wait for more packets of a unit without a marker, milliseconds; longer once markers have been seen. */
const GATHER_MS = 2
const GATHER_WITH_MARKERS_MS = 25
/** A unit that neither a marker nor a new timestamp closes is cut here. */
const MAX_UNIT_PACKETS = 16_384

/** Receives the packets of one access unit, their RTP timestamp, and whether a decoder can start at it. */
type OnUnit = (packets: readonly Buffer[], timestamp: number, key: boolean) => void

/** Groups the RTP packets of one child into access units: by marker, by timestamp, or by a short silence. */
export class UnitAssembler {
  readonly #onUnit: OnUnit
  #startsKeyFrame = keyFrameDetector('')
  #packets: Buffer[] = []
  #timestamp = 0
  #key = false
  #markersSeen = false
  #timer: NodeJS.Timeout | undefined

  constructor(onUnit: OnUnit) {
    this.#onUnit = onUnit
  }

  /** Sets the codec, by which key frames are recognized. */
  setEncoding(name: string): void {
    this.#startsKeyFrame = keyFrameDetector(name)
  }

  push(packet: Buffer, payload: PayloadRange): void {
    const timestamp = timestampOf(packet)
    if (this.#packets.length > 0 && (timestamp !== this.#timestamp || this.#packets.length >= MAX_UNIT_PACKETS)) this.#close()
    this.#timestamp = timestamp
    this.#key ||= this.#startsKeyFrame(packet, payload.start, payload.end)
    this.#packets.push(packet)
    if (hasMarker(packet)) {
      this.#markersSeen = true
      this.#close()
    }
  }

  /** Call after the packets of a chunk: closes an open unit when nothing more comes for it. */
  closeAfterSilence(): void {
    if (this.#packets.length === 0 || this.#timer !== undefined) return
    const [first] = this.#packets
    const count = this.#packets.length
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        // Timers run before the pipes are read: bytes still in the pipe belong to the unit.
        setImmediate(() => this.#closeIfSilent(first, count))
      },
      this.#markersSeen ? GATHER_WITH_MARKERS_MS : GATHER_MS,
    )
    this.#timer.unref()
  }

  /** Drops the open unit. */
  reset(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#packets = []
    this.#key = false
  }

  #closeIfSilent(first: Buffer | undefined, count: number): void {
    if (this.#packets.length > 0 && this.#packets[0] === first && this.#packets.length === count) this.#close()
    this.closeAfterSilence()
  }

  #close(): void {
    const packets = this.#packets
    const key = this.#key
    this.#packets = []
    this.#key = false
    this.#onUnit(packets, this.#timestamp, key)
  }
}
