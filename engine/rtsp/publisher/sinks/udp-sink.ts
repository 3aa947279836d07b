import type { Sink } from '../../../mount/sink.ts'
import type { AccessUnit, Datagrams } from '../../../rtp/access-unit.ts'
import type { RtpPort } from './rtp-port.ts'
import { closeUdpPair, type UdpPair } from './udp-pair.ts'

/**
 * Linux gives a UDP socket a buffer of 212,992 bytes by default, room for about 90 packets of video. A key frame is larger,
 * a cached GOP much larger: this many packets are sent at once, the rest at a pace that the reader can follow.
 */
const BURST_PACKETS = 40
const MIN_PACKETS_PER_MS = 4
/** The pace is at least this many times the packet rate of the stream. */
const PACE_FACTOR = 2
/** The timer waits until this many of the rest may be sent: two wake-ups for a key frame instead of one per millisecond. */
const PACED_PACKETS = 16
/** Milliseconds until a socket whose buffer is full is tried again. */
const FULL_MS = 1

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
    // The report is lost when the reader is gone.
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
    const allowed = Math.floor(this.#tokens)
    const sent = waiting.port.send(waiting.datagrams, waiting.next, allowed)
    waiting.next += sent
    this.#tokens -= sent
    const left = waiting.datagrams.starts.length - 1 - waiting.next
    if (left <= 0) this.#waiting = undefined
    else this.#timer ??= setTimeout(this.#onTimer, sent < allowed ? FULL_MS : this.#untilTokens(Math.min(left, PACED_PACKETS)))
  }

  /** Milliseconds until `count` packets may be sent. */
  #untilTokens(count: number): number {
    return Math.ceil((count - this.#tokens) / this.#packetsPerMs)
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined
    this.#pump()
    if (!this.busy) this.onReady()
  }
}
