import type { Socket } from 'node:net'
import { StreamSink } from '../../../mount/stream-sink.ts'
import type { AccessUnit } from '../../../rtp/access-unit.ts'
import { formatInterleaved } from '../../protocol/interleaved.ts'

/** RTP inside the RTSP connection (RFC 2326 section 10.12): one write per access unit, so a reader never gets part of one. */
export class InterleavedSink extends StreamSink {
  /** RTP channel per track; RTCP uses the next one. */
  readonly #channels: readonly number[]

  constructor(socket: Socket, channels: readonly number[]) {
    super(socket)
    this.#channels = channels
  }

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    const channel = this.#channels[track] ?? 0
    this.write(timestamp === undefined ? unit.framed(channel) : unit.retimed(channel, timestamp))
    return unit.bytes
  }

  sendReport(track: number, packet: Buffer): void {
    if (!this.busy) this.write(formatInterleaved((this.#channels[track] ?? 0) + 1, packet))
  }
}
