import type { Writable } from 'node:stream'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { Sink } from './sink.ts'

/** A sink that writes to a stream, once for each access unit, and is busy until the kernel has taken the bytes. */
export abstract class StreamSink implements Sink {
  readonly #out: Writable
  #waitingSinceMs: number | undefined
  onReady: () => void = () => {}

  constructor(out: Writable) {
    this.#out = out
  }

  get busy(): boolean {
    return this.#waitingSinceMs !== undefined
  }

  get stuckSinceMs(): number | undefined {
    return this.#waitingSinceMs
  }

  abstract send(track: number, unit: AccessUnit, timestamp: number | undefined): number

  abstract sendReport(track: number, packet: Buffer): void

  close(): void {
    this.onReady = () => {}
  }

  /**
   * Returns the number of bytes. The kernel takes most writes at once, and a write without a callback is the cheapest in Node.js. Only
   * a write behind a pending one needs the callback.
   */
  protected write(data: Uint8Array): number {
    const out = this.#out
    if (out.writableLength === 0) out.write(data)
    else {
      this.#waitingSinceMs = performance.now()
      out.write(data, this.#written)
    }
    return data.length
  }

  readonly #written = (error?: Error | null): void => {
    this.#waitingSinceMs = undefined
    if (!error) this.onReady()
  }
}
