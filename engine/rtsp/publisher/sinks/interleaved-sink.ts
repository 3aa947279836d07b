import type { Writable } from 'node:stream'
import { StreamSink } from '../../../mount/stream-sink.ts'
import type { AccessUnit } from '../../../rtp/access-unit.ts'
import { formatInterleaved } from '../../protocol/interleaved.ts'

/** Numbers of the tracks of a mount. */
const [VIDEO, SOUND] = [0, 2] as const
/** Sound waits no longer than this for the next picture, to be written with it; milliseconds. Each write costs as much as a picture. */
const MAX_HELD_MS = 40

/** RTP inside the RTSP connection (RFC 2326 section 10.12): one write per access unit at most, so a reader never gets part of one. */
export class InterleavedSink extends StreamSink {
  /** RTP channel per track; RTCP uses the next one. */
  readonly #channels: readonly number[]
  /** Sound that waits for a picture, and since when, monotonic milliseconds. */
  #held: Buffer[] = []
  #heldSinceMs = 0
  #pictureMs = Number.NEGATIVE_INFINITY

  constructor(connection: Writable, channels: readonly number[]) {
    super(connection)
    this.#channels = channels
  }

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    const channel = this.#channels[track] ?? 0
    const framed = timestamp === undefined ? unit.framed(channel) : unit.retimed(channel, timestamp)
    if (track === SOUND && this.#hold(framed)) return unit.bytes
    if (track === VIDEO) this.#pictureMs = performance.now()
    const held = this.#held
    this.#held = []
    this.write(held.length === 0 ? framed : unit.framedAfter(held, framed))
    return unit.bytes
  }

  sendReport(track: number, packet: Buffer): void {
    if (!this.busy) this.write(formatInterleaved((this.#channels[track] ?? 0) + 1, packet))
  }

  override close(): void {
    this.#held = []
    super.close()
  }

  /** Whether sound waits for the next picture: only while pictures come. */
  #hold(framed: Buffer): boolean {
    const nowMs = performance.now()
    if (this.#held.length === 0) this.#heldSinceMs = nowMs
    if (this.busy || nowMs - this.#pictureMs > 2 * MAX_HELD_MS || nowMs - this.#heldSinceMs > MAX_HELD_MS) return false
    this.#held.push(framed)
    return true
  }
}
