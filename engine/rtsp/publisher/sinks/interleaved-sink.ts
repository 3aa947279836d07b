import type { Socket } from 'node:net'
import type { AccessUnit } from '../../../rtp/access-unit.ts'
import { formatInterleaved } from '../../protocol/interleaved.ts'
import type { Sink } from './sink.ts'

/** RTP inside the RTSP connection (RFC 2326 section 10.12): one write per access unit, so a reader never gets part of one. */
export class InterleavedSink implements Sink {
  readonly #socket: Socket
  /** RTP channel per track; RTCP uses the next one. */
  readonly channels: readonly number[]
  #waitingSinceMs: number | undefined
  onReady: () => void = () => {}

  constructor(socket: Socket, channels: readonly number[]) {
    this.#socket = socket
    this.channels = channels
  }

  get busy(): boolean {
    return this.#waitingSinceMs !== undefined
  }

  get stuckSinceMs(): number | undefined {
    return this.#waitingSinceMs
  }

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    const channel = this.channels[track] ?? 0
    this.#write(timestamp === undefined ? unit.framed(channel) : unit.retimed(channel, timestamp))
    return unit.bytes
  }

  sendReport(track: number, packet: Buffer): void {
    if (!this.busy) this.#write(formatInterleaved((this.channels[track] ?? 0) + 1, packet))
  }

  // The kernel accepts most writes at once, and a write without a callback is the cheapest in Node. Only a write
  // behind another that is still pending needs the callback.
  #write(data: Buffer): void {
    const socket = this.#socket
    if (socket.writableLength === 0) socket.write(data)
    else {
      this.#waitingSinceMs = performance.now()
      socket.write(data, this.#written)
    }
  }

  readonly #written = (error?: Error | null): void => {
    this.#waitingSinceMs = undefined
    if (!error) this.onReady()
  }

  close(): void {
    this.onReady = () => {}
  }
}
