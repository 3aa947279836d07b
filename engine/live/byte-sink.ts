import type { Writable } from 'node:stream'
import type { AccessUnit } from '../rtp/access-unit.ts'
import type { Sink } from '../rtsp/publisher/sinks/sink.ts'

/** Sends the units of one client as bytes of a format. Like a reader over TCP it is busy until its bytes are handed to the kernel. */
export abstract class ByteSink implements Sink {
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

  /** Called before the first unit. */
  abstract begin(): void

  /** Called now and then, and when the source is lost. `drained`: nothing waits before what is written now. */
  abstract check(drained: boolean): void

  abstract send(track: number, unit: AccessUnit, timestamp: number | undefined): number

  /** RTCP has no place in these formats. */
  sendReport(): void {}

  close(): void {
    this.onReady = () => {}
  }

  /** Returns the number of bytes. */
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
