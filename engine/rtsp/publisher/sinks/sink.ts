import type { AccessUnit } from '../../../rtp/access-unit.ts'

/** Where the packets of one session go: its RTSP connection, or UDP ports. */
export interface Sink {
  /** True while what was given has not been taken; `onReady` follows. */
  readonly busy: boolean
  /** Monotonic milliseconds since when nothing was accepted although something waits; undefined when all is well. */
  readonly stuckSinceMs: number | undefined
  /** Passes one whole unit on and answers its bytes; with `timestamp` its packets carry that one instead of their own. */
  send(track: number, unit: AccessUnit, timestamp: number | undefined): number
  /** Passes one RTCP compound packet on, or drops it when busy. */
  sendReport(track: number, packet: Buffer): void
  /** Called whenever `busy` has become false. */
  onReady: () => void
  close(): void
}
