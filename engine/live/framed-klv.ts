import { klvRecord } from '../../lib/video-records.ts'
import { FramePairing } from '../formats/frame-pairing.ts'
import type { AccessUnit } from '../rtp/access-unit.ts'
import { KlvDelay } from './klv-delay.ts'

/** A KLV packet whose frame has not come after this time belongs to the frame before, milliseconds. */
const LONGEST_WAIT_MS = 1000
const MAX_WAITING = 256
const MAX_WAITING_BYTES = 1024 * 1024
/** Clocks of KLV and video that are the same in the source differ by less, milliseconds. */
const TOLERANCE_MS = 1
/** Records that wait at once. */
const MAX_HELD = 64

type Frame = Pick<AccessUnit, 'mediaMs' | 'arrivedMs'>
type Packet = Pick<AccessUnit, 'mediaMs' | 'arrivedMs' | 'bytes' | 'payload'>

interface Held {
  /** Of a picture. */
  readonly frame: Frame | undefined
  /** Records that come before its KLV. */
  readonly before?: Uint8Array | undefined
  readonly bytes: Uint8Array
  readonly untilMs: number
}

interface FramedKlvParts {
  readonly write: (bytes: Uint8Array) => void
  /** The source has sent KLV. */
  readonly hasKlv: () => boolean
}

/** Puts KLV before the picture it belongs to. Pictures wait for it as long as it usually comes late, and a tenth of a second at most. */
export class FramedKlv {
  readonly #parts: FramedKlvParts
  readonly #pairing = new FramePairing<Frame>()
  readonly #delay = new KlvDelay()
  #waiting: Packet[] = []
  #held: Held[] = []
  /** The latest time of a packet. */
  #klvMs = Number.NEGATIVE_INFINITY
  #lastSent: { readonly frame: Frame; packets: number } | undefined
  /** The most packets that a frame had. */
  #perFrame = 1
  #timer: NodeJS.Timeout | undefined

  constructor(parts: FramedKlvParts) {
    this.#parts = parts
  }

  /** Takes a picture, and the records that are to be sent before it and its KLV. */
  addPicture(frame: Frame, bytes: Uint8Array, before?: Uint8Array): void {
    this.#pairing.add(frame)
    const untilMs = this.#parts.hasKlv() ? frame.arrivedMs + this.#delay.ms : Number.NEGATIVE_INFINITY
    this.#hold({ frame, before, bytes, untilMs })
  }

  /** Takes records that are to keep their place between pictures. */
  addOther(bytes: Uint8Array): void {
    this.#hold({ frame: undefined, bytes, untilMs: Number.NEGATIVE_INFINITY })
  }

  addKlv(unit: Packet): void {
    this.#klvMs = Math.max(this.#klvMs, unit.mediaMs)
    this.#waiting.push(unit)
    let bytes = this.#waiting.reduce((sum, waiting) => sum + waiting.bytes, 0)
    while (this.#waiting.length > MAX_WAITING || bytes > MAX_WAITING_BYTES) bytes -= this.#waiting.shift()?.bytes ?? 0
    this.#send()
  }

  /** Sends what waits for KLV. */
  flush(): void {
    this.#held = this.#held.map((held) => ({ ...held, untilMs: Number.NEGATIVE_INFINITY }))
    this.#send()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#held = []
    this.#waiting = []
  }

  #hold(held: Held): void {
    this.#held.push(held)
    this.#send()
  }

  #send(): void {
    this.#sendLate()
    for (let next = this.#held[0]; next !== undefined && this.#isDue(next); next = this.#held[0]) {
      this.#held.shift()
      if (next.before !== undefined) this.#parts.write(next.before)
      if (next.frame !== undefined) this.#sendKlvOf(next.frame)
      this.#parts.write(next.bytes)
    }
    clearTimeout(this.#timer)
    const [first] = this.#held
    if (first !== undefined) this.#timer = setTimeout(() => this.#send(), Math.max(1, first.untilMs - performance.now()))
  }

  #isDue({ frame, untilMs }: Held): boolean {
    if (this.#held.length > MAX_HELD || performance.now() >= untilMs) return true
    if (frame === undefined || this.#klvMs < frame.mediaMs - TOLERANCE_MS) return false
    const own = this.#waiting.filter((unit) => this.#frameOf(unit) === frame)
    // All that it usually has is here, or KLV of a later frame.
    return own.length >= this.#perFrame || (this.#klvMs > frame.mediaMs && this.#pairing.frameAt(this.#klvMs) !== frame)
  }

  #sendKlvOf(frame: Frame): void {
    const packets = this.#take((found) => found === frame)
    this.#lastSent = { frame, packets }
    this.#perFrame = Math.max(this.#perFrame, packets)
  }

  /** Sends the packets whose picture has been sent before. */
  #sendLate(): void {
    const last = this.#lastSent
    const packets = this.#take((found) => !this.#held.some(({ frame }) => frame === found))
    if (last !== undefined && last.packets > 0) this.#perFrame = Math.max(this.#perFrame, last.packets + packets)
  }

  /** How many packets were sent. */
  #take(isWanted: (frame: Frame) => boolean): number {
    let sent = 0
    const rest: Packet[] = []
    for (const unit of this.#waiting) {
      const frame = this.#frameOf(unit)
      if (frame === undefined || !isWanted(frame)) rest.push(unit)
      else {
        this.#delay.observe(unit.arrivedMs - frame.arrivedMs, unit.arrivedMs)
        this.#parts.write(klvRecord(frame.mediaMs, unit.payload()))
        sent += 1
      }
    }
    this.#waiting = rest
    return sent
  }

  #frameOf(unit: Packet): Frame | undefined {
    const newestMs = this.#held.at(-1)?.frame?.arrivedMs ?? this.#lastSent?.frame.arrivedMs ?? unit.arrivedMs
    const isOld = newestMs - unit.arrivedMs > LONGEST_WAIT_MS
    return this.#pairing.frameAt(unit.mediaMs) ?? (isOld ? this.#pairing.lastAt(unit.mediaMs) : undefined)
  }
}
