import type { AccessUnit } from '../../../rtp/access-unit.ts'
import type { Sink } from './sink.ts'
import { closeUdpPair, type UdpPair } from './udp-ports.ts'

/**
 * Linux gives a UDP socket a buffer of 212,992 bytes by default, room for about 90 packets of video. A key frame is larger,
 * a cached GOP much larger: this many packets are sent at once, the rest at a pace that the reader can follow.
 */
const BURST_PACKETS = 40
const MIN_PACKETS_PER_MS = 4
/** Bytes that may wait in a socket when the network is slower. */
const MAX_SOCKET_BYTES = 256 * 1024
/** The pace is at least this many times the packet rate of the stream. */
const PACE_FACTOR = 2

/** RTP over UDP unicast (RFC 2326 section 12.39), paced. */
export class UdpSink implements Sink {
  readonly #pairs: readonly (UdpPair | undefined)[]
  #waiting: { readonly socket: UdpPair['rtp']; readonly packets: readonly Buffer[]; next: number } | undefined
  #timer: NodeJS.Timeout | undefined
  #tokens = BURST_PACKETS
  #refilledMs = performance.now()
  #packetsPerMs = MIN_PACKETS_PER_MS
  #livePackets = 0
  #liveSinceMs = performance.now()
  #refusedSinceMs: number | undefined
  onReady: () => void = () => {}

  constructor(pairs: readonly (UdpPair | undefined)[]) {
    this.#pairs = pairs
  }

  get busy(): boolean {
    return this.#waiting !== undefined
  }

  get stuckSinceMs(): number | undefined {
    return this.#refusedSinceMs
  }

  send(track: number, unit: AccessUnit, timestamp: number | undefined): number {
    const pair = this.#pairs[track]
    if (!pair) return 0
    const packets = timestamp === undefined ? unit.packets() : unit.packets(unit.retimed(0, timestamp))
    if (timestamp === undefined) this.#measure(packets.length)
    this.#waiting = { socket: pair.rtp, packets, next: 0 }
    this.#pump()
    return unit.bytes
  }

  sendReport(track: number, packet: Buffer): void {
    const pair = this.#pairs[track]
    if (pair) this.#sendPacket(pair.rtcp, packet)
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
    const room = waiting.socket.getSendQueueSize() < MAX_SOCKET_BYTES
    while (room && this.#tokens >= 1 && waiting.next < waiting.packets.length) {
      const packet = waiting.packets[waiting.next++]
      if (packet) this.#sendPacket(waiting.socket, packet)
      this.#tokens -= 1
    }
    if (waiting.next === waiting.packets.length) this.#waiting = undefined
    else this.#timer ??= setTimeout(this.#onTimer, 1)
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined
    this.#pump()
    if (!this.busy) this.onReady()
  }

  #sendPacket(socket: UdpPair['rtp'], packet: Buffer): void {
    try {
      socket.send(packet, this.#sent)
    } catch {
      // The socket was closed between two packets.
    }
  }

  // A closed port of the reader responds with ICMP, which the kernel reports on a connected socket.
  readonly #sent = (error: Error | null): void => {
    if (error === null) this.#refusedSinceMs = undefined
    else this.#refusedSinceMs ??= performance.now()
  }
}
