import { KlvDemuxer } from './klv-demuxer.ts'
import { isProgramMap, plainMap } from './plain-map.ts'
import { PACKET_BYTES, TsMuxer } from './ts-muxer.ts'

const SYNC = 0x47

/**
 * Passes an MPEG-TS on with its synchronous KLV (stream type 0x15) as asynchronous (0x06) with the same times: tsdemux of GStreamer 1.22 has
 * a pad for that alone. Everything else stays as it is.
 */
export class PlainKlv {
  readonly #demuxer = new KlvDemuxer()
  /** Of the streams that are changed, by PID. */
  readonly #muxers = new Map<number, TsMuxer>()
  #rest = Buffer.alloc(0)
  readonly #onKlv: (synchronous: boolean) => void
  #synchronous: boolean | undefined

  /** `onKlv` is called when the map of a program announces KLV, and when that changes: whether it is synchronous. */
  constructor(onKlv: (synchronous: boolean) => void) {
    this.#onKlv = onKlv
  }

  pass(chunk: Buffer): Buffer {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const parts: Buffer[] = []
    let passed = 0
    let at = 0
    while (at + PACKET_BYTES <= bytes.length) {
      if (bytes[at] !== SYNC) {
        const next = bytes.indexOf(SYNC, at)
        at = next === -1 ? bytes.length : next
        continue
      }
      const changed = this.#changed(bytes.subarray(at, at + PACKET_BYTES))
      if (changed !== undefined) {
        parts.push(bytes.subarray(passed, at), ...changed)
        passed = at + PACKET_BYTES
      }
      at += PACKET_BYTES
    }
    parts.push(bytes.subarray(passed, at))
    this.#rest = Buffer.from(bytes.subarray(at))
    return parts.length === 1 ? bytes.subarray(0, at) : Buffer.concat(parts)
  }

  /** What is passed on in place of a packet; undefined: the packet. */
  #changed(packet: Buffer): readonly Buffer[] | undefined {
    const pid = packet.readUInt16BE(1) & 0x1fff
    if (!this.#demuxer.reads(pid)) return undefined
    const units = this.#demuxer.push(packet)
    if (isProgramMap(packet)) return this.#changedMap(packet)
    // Without a time there is none to keep.
    return this.#muxers.get(pid) && units.flatMap(({ pts, bytes }) => (pts === null ? [] : [this.#write(pid, bytes, pts)]))
  }

  #write(pid: number, bytes: Uint8Array, pts: number): Buffer {
    return this.#muxers.get(pid)?.klv(bytes, pts) ?? Buffer.alloc(0)
  }

  #changedMap(packet: Buffer): readonly Buffer[] | undefined {
    const tracks = this.#demuxer.tracks ?? []
    const timed = new Set(tracks.flatMap(({ pid, synchronous }) => (synchronous ? [pid] : [])))
    for (const pid of this.#muxers.keys()) if (!timed.has(pid)) this.#muxers.delete(pid)
    const map = plainMap(packet, (pid) => timed.has(pid))
    for (const pid of map?.changed ?? []) if (!this.#muxers.has(pid)) this.#muxers.set(pid, new TsMuxer(pid))
    this.#announce(tracks.length === 0 ? undefined : timed.size > 0)
    return map && [map.packet]
  }

  #announce(synchronous: boolean | undefined): void {
    if (synchronous === undefined || synchronous === this.#synchronous) return
    this.#synchronous = synchronous
    this.#onKlv(synchronous)
  }
}
