import type { AccessUnit } from '../rtp/access-unit.ts'

/** Sends the media of one reader: over its RTSP connection, over UDP, or as bytes of a format. */
export interface Sink {
  /** True until the last unit has been handed to the kernel; then `onReady` is called. */
  readonly busy: boolean
  /** It gives cached sound a time itself; else a reader begins with the sound of the moment at which its compressed pictures begin. */
  readonly timesSound?: boolean
  /** Monotonic milliseconds since when the reader has accepted nothing; undefined when nothing waits. */
  readonly stuckSinceMs: number | undefined
  /** Sends one whole unit and returns its bytes; `timestamp` replaces the one in its packets. */
  send(track: number, unit: AccessUnit, timestamp: number | undefined): number
  /** Called with a unit that waits in the queue, while it is the newest one. */
  waits?(track: number, unit: AccessUnit): void
  /** Sends one RTCP compound packet, or drops it when busy. */
  sendReport(track: number, packet: Buffer): void
  /** Called whenever `busy` becomes false. */
  onReady: () => void
  close(): void
}
