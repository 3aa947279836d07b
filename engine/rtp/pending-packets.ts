import type { RtpCaps } from './caps.ts'
import { payloadsOf, payloadTypeOf } from './packet/packet.ts'
import { inBandFormat } from './repair/in-band-format.ts'

const MAX_BYTES = 32 * 1024 * 1024
/**
 * A run whose caps do not arrive in this time is assumed to have those of the run before, or those in its packets. GLib loses the line
 * when two threads of gst-launch notify at the same time: a signal that does not recurse is emitted again for the other one.
 */
const CAPS_TIMEOUT_MS = 1_000

/** Packets that wait for the caps of their run: caps come over stdout and media over another pipe, either may be read first. */
export class PendingPackets {
  readonly #onTimeout: () => void
  #packets: Buffer[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `onTimeout`: packets have waited for CAPS_TIMEOUT_MS. */
  constructor(onTimeout: () => void) {
    this.#onTimeout = onTimeout
  }

  get isEmpty(): boolean {
    return this.#packets.length === 0
  }

  add(packet: Buffer): void {
    this.#bytes += packet.length
    if (this.#bytes > MAX_BYTES) {
      this.#packets = []
      this.#bytes = packet.length
    }
    this.#packets.push(packet)
  }

  /** Returns the packets and starts empty. */
  take(): readonly Buffer[] {
    const packets = this.#packets
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#packets = []
    this.#bytes = 0
    return packets
  }

  armTimer(): void {
    if (this.isEmpty || this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      // Timers run before the pipes are read: the caps may be in the pipe already.
      setImmediate(() => {
        if (!this.isEmpty) this.#onTimeout()
      })
    }, CAPS_TIMEOUT_MS)
    this.#timer.unref()
  }

  /** The caps of our own payloaders, from the parameter sets in their packets; undefined when there are none. */
  ownCaps(): RtpCaps | undefined {
    const format = inBandFormat(payloadsOf(this.#packets))
    const [first] = this.#packets
    if (format === undefined || first === undefined) return undefined
    const parameters = new Map([['timestamp-offset', '0'], ...format.parameters])
    return { media: 'video', encodingName: format.codec, payload: payloadTypeOf(first), clockRate: 90_000, parameters }
  }
}
