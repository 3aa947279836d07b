import type { Writable } from 'node:stream'
import { gdpBuffers, gdpStart } from '../gst/gdp.ts'

/** A child needs a second or two to start on a busy host; one that is behind for longer shows old pictures. */
const MAX_BEHIND_MS = 3000
/** More than a child leaves unread in that time: 40 Mbit/s. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

/**
 * The stdin of a child that reads the GStreamer Data Protocol. Never holds back the source: what the child does not read in time is
 * dropped, until it has read everything before.
 */
export class ChildPipe {
  readonly #out: Writable
  readonly #onDrop: () => void
  /** When everything had been read, monotonic milliseconds. */
  #readMs = performance.now()
  #started = false
  #dropping = false

  /** `onDrop` is called each time when dropping begins. */
  constructor(out: Writable, onDrop: () => void) {
    this.#out = out
    this.#onDrop = onDrop
    // The end of the child says more than the error of its pipe.
    out.on('error', () => {})
  }

  /** Writes buffers with one time, in milliseconds since the beginning. `caps`: of all buffers; `entry`: a decoder can start here. */
  write(
    buffers: readonly Buffer[],
    { ms, caps, entry }: { readonly ms: number; readonly caps: () => string; readonly entry: boolean },
  ): void {
    if (this.#isBehind(entry)) return
    const pts = BigInt(Math.max(0, Math.round(ms * 1e6)))
    if (!this.#started) this.#out.write(gdpStart(caps()))
    this.#started = true
    this.#out.write(gdpBuffers(buffers, pts))
  }

  #isBehind(entry: boolean): boolean {
    const waiting = this.#out.writableLength
    const nowMs = performance.now()
    if (waiting === 0) this.#readMs = nowMs
    if (this.#dropping) this.#dropping = waiting > 0 || !entry
    else if (waiting > MAX_WAITING_BYTES || nowMs - this.#readMs > MAX_BEHIND_MS) {
      this.#dropping = true
      this.#onDrop()
    }
    return this.#dropping
  }
}
