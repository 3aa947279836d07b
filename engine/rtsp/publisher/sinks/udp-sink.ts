import type { AccessUnit, Datagrams } from '../../../rtp/access-unit.ts'
import type { RtpPort } from './rtp-port.ts'
import type { Sink } from './sink.ts'
import { closeUdpPair, type UdpPair } from './udp-ports.ts'

/**
 * Linux gives a UDP socket a buffer of 212,992 bytes by default, room for about 90 packets of video. A key frame is larger,
 * a cached GOP much larger: this many packets are sent at once, the rest at a pace that the reader can follow.
 */
const BURST_PACKETS = 40
const MIN_PACKETS_PER_MS = 4
/** The pace is at least this many times the packet rate of the stream. */
const PACE_FACTOR = 2

/** RTP over UDP unicast (RFC 2326 section 12.39), paced. */
export class UdpSink implements Sink {
  readonly #pairs: readonly (UdpPair | undefined)[]
  #waiting: { readonly port: RtpPort; readonly datagrams: Datagrams; next: number } | undefined
  #timer: NodeJS.Timeout | undefined
  #tokens = BURST_PACKETS
  #refilledMs = performance.now()
  #packetsPerMs = MIN_PACKETS_PER_MS
  #livePackets = 0
  #liveSinceMs = performance.now()
  onReady: () => void = () => {}

  constructor(pairs: readonly (UdpPair | undefined)[]) {
    this.#pairs = pairs
  }

  get busy(): boolean {
    return this.#waiting !== undefined
  }

  get stuckSinceMs(): number | undefined {
    for (const pair of this.#pairs) if (pair?.rtp.refusedSinceMs !== undefined) return pair.rtp.refusedSinceMs
    return undefined
  }

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    const pair = this.#pairs[track]
    if (!pair) return 0
    if (timestamp === undefined) this.#measure(unit.packetCount)
    this.#waiting = { port: pair.rtp, datagrams: unit.datagrams(timestamp), next: 0 }
    this.#pump()
    return unit.bytes
  }

  sendReport(track: number, packet: Buffer): void {
    // Without a reader behind it, the report is lost.
    this.#pairs[track]?.rtcp.send(packet, () => {})
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#waiting = undefined
    this.onReady = () => {}
    for (const pair of this.#pairs) if (pair) closeUdpPair(pair)
  }

  /** Measures the packet rate of the live stream, over seconds. */
  #measure(packets: number): void {
    const now = performance.now()
    this.#livePackets += packets
    const elapsed = now - this.#liveSinceMs
    if (elapsed < 1000) return
    this.#packetsPerMs = Math.max(MIN_PACKETS_PER_MS, (PACE_FACTOR * this.#livePackets) / elapsed)
    this.#livePackets = 0
    this.#liveSinceMs = now
  }

  #pump(): void {
    const waiting = this.#waiting
    if (waiting === undefined) return
    const now = performance.now()
    this.#tokens = Math.min(BURST_PACKETS, this.#tokens + (now - this.#refilledMs) * this.#packetsPerMs)
    this.#refilledMs = now
    const sent = waiting.port.send(waiting.datagrams, waiting.next, Math.floor(this.#tokens))
    waiting.next += sent
    this.#tokens -= sent
    if (waiting.next >= waiting.datagrams.starts.length - 1) this.#waiting = undefined
    else this.#timer ??= setTimeout(this.#onTimer, 1)
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined
    this.#pump()
    if (!this.busy) this.onReady()
  }
}
